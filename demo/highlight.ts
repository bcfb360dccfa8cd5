import { el } from './dom.ts'

/** Where a field of a hit has words of the query, in code points; `index` says in which of several values. */
export interface Match {
  index?: number
  start: number
  length: number
}

/** The words of the query that the text has. What a space alone divides is one phrase. */
export const matchedTexts = (text: string, matches: readonly Match[] = []): string[] => {
  const letters = [...text]
  const phrases: Match[] = []
  for (const { start, length } of matches) {
    const last = phrases.at(-1)
    if (last && start === last.start + last.length + 1 && letters[start - 1] === ' ') last.length += 1 + length
    else phrases.push({ start, length })
  }
  return phrases.map(({ start, length }) => letters.slice(start, start + length).join(''))
}

/** The text with its matches in <mark>. They are in order and do not overlap. */
export const highlight = (text: string, matches: readonly Match[] = []): (Node | string)[] => {
  const letters = [...text]
  const part = (start: number, end?: number) => letters.slice(start, end).join('')
  let done = 0
  const nodes = matches.flatMap(({ start, length }) => {
    const before = part(done, start)
    done = start + length
    return [before, el('mark', part(start, done))]
  })
  return [...nodes, part(done)]
}
