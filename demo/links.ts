import { LinkifyIt } from 'linkify-it'
import { el } from './dom.ts'

// What begins with http:// or https://, and nothing that a click may mean otherwise.
const links = new LinkifyIt({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
for (const schema of ['ftp:', 'mailto:', '//']) links.add(schema, null)

/** The text with its web addresses as links, which tell the page there nothing of this one. */
export const linked = (text: string): (Node | string)[] => {
  const parts: (Node | string)[] = []
  let end = 0
  for (const { index, lastIndex, url } of links.match(text) ?? []) {
    const shown = text.slice(index, lastIndex)
    parts.push(text.slice(end, index), el('a', { href: url, target: '_blank', rel: 'noopener noreferrer ugc' }, shown))
    end = lastIndex
  }
  return [...parts, text.slice(end)]
}
