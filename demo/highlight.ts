import { el } from './dom.ts'

/** Where a field of a hit has words of the query, in code points; `index` says in which of several values. */
export interface Match {
  index?: number
  start: number
  length: number
}

/** The text with its matches in <mark>. They are in order and do not overlap. */
export const highlight = (text: string, matches: readonly Match[] = []): (Node | string)[] => {
  const letters = [...text]
  const part = (start: number, end?: number) => letters.slice(start, end).join('')
  let done = 0
  const nodes = matches.flatMap(({ start, length }) => {
    const before = part(done, start)
    done = start + length
    return [before, el('mark', {}, part(start, done))]
  })
  return [...nodes, part(done)]
}
