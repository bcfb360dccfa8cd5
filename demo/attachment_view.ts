import type { Attachment } from '../clients/inbox.ts'
import { button, el, icon } from './dom.ts'
import { formatSize } from './format.ts'
import type { Files } from './storage.ts'

const label = ({ name, size }: Attachment, place = ''): HTMLElement[] => [
  el('span', { class: 'file-name' }, name),
  el('span', { class: 'file-size' }, `${formatSize(size)}${place}`),
]

/** A file on another host is only a link: loading it would tell that host who reads the conversation, and when. */
const foreign = (attachment: Attachment): HTMLElement => {
  const url = URL.parse(attachment.url)
  if (url?.protocol !== 'https:') return el('span', { class: 'file' }, icon('file'), ...label(attachment))
  return el(
    'a',
    { class: 'file', href: url.href, rel: 'noopener noreferrer', target: '_blank' },
    icon('file'),
    ...label(attachment, ` · ${url.host}`),
  )
}

/** A picture is shown, everything else is a link that saves the file. */
export const showAttachment = (attachment: Attachment, files: Files): HTMLElement => {
  if (/^https:/i.test(attachment.url)) return foreign(attachment)
  // The address holds for ten minutes, so it is asked for when it is needed.
  const save = async () => {
    const address = await files.addressOf(attachment.url)
    if (!address) return failure.hidden = false
    el('a', { href: `${address}&download=${encodeURIComponent(attachment.name)}` }).click()
  }
  const failure = el('span', { role: 'alert', hidden: true }, 'The file cannot be read now.')
  const node = el('span', { class: 'attachment' }, button([icon('file'), ...label(attachment)], save, 'file'), failure)
  if (attachment.mime_type.startsWith('image/')) {
    const image = el('img', { class: 'picture', alt: attachment.name, error: () => image.remove() })
    node.prepend(image)
    files.addressOf(attachment.url).then((address) => address ? image.src = address : image.remove())
  }
  return node
}
