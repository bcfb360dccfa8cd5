// The part of a text that shows the words of a query.

import { unspaced } from './fold.ts'

/** Where a text has a word or phrase of a query, its `unit`, in code points. */
export type Found = { unit: number; start: number; length: number }

/** `start` and `end` say which characters, without the ellipses. */
export type Snippet = { text: string; start: number; end: number }

const maxLength = 160
// With an ellipsis at each end.
const room = maxLength - 2

/** In code points. */
export const lengthOf = (text: string): number => /[\ud800-\udfff]/.test(text) ? [...text].length : text.length

/** From the match after which most words of the query follow. In one pass, as a biography may have a thousand. */
const bestWindow = (found: Found[]): [first: number, last: number] => {
  const matches = found.toSorted((one, other) => one.start - other.start)
  const counts = new Map<number, number>()
  const add = (unit: number, more: number) => counts.set(unit, (counts.get(unit) ?? 0) + more)
  let [next, units, best] = [0, 0, matches.slice(0, 0)]
  for (const [at, { start, unit }] of matches.entries()) {
    for (; next < matches.length && matches[next]!.start <= start + 100; next++) add(matches[next]!.unit, 1)
    if (counts.size > units || counts.size === units && next - at > best.length) {
      units = counts.size
      best = matches.slice(at, next)
    }
    add(unit, -1)
    if (counts.get(unit) === 0) counts.delete(unit)
  }
  const first = best[0]?.start ?? 0
  return [first, Math.min(first + room, Math.max(0, ...best.map(({ start, length }) => start + length)))]
}

const partOfWord = `[^\\s${unspaced}]`
const isPartOfWord = new RegExp(partOfWord, 'u')

const cut = (points: string[], found: Found[]): [start: number, end: number] => {
  const [first, last] = bestWindow(found)
  const size = points.length
  const wordAt = (at: number): string => isPartOfWord.test(points[at]!) ? `(?:${partOfWord}+)?` : ''
  const match = (from: number, to: number, pattern: string): number =>
    lengthOf(new RegExp(pattern, 'u').exec(points.slice(from, to).join(''))?.[0] ?? '')

  let start = Math.max(0, Math.min(first - Math.floor((room - (last - first)) / 2), size - room - 1))
  let end = start === 0 ? room + 1 : start + room + 1 >= size ? size : start + room
  // Not from the middle of a word, nor from a space or a mark, unless the match begins there.
  if (start > 0) start += match(start, first, `^${wordAt(start - 1)}\\s*\\p{M}*`)
  if (end < size) {
    const whole = end - match(last, end, `\\s*${wordAt(end)}$`)
    // A word that fills the snippet is cut.
    if (whole > start) end = whole
    while (end > start + 1 && /^\p{M}/u.test(points[end]!)) end--
  }
  return [start, end]
}

/** The 160 characters of a text that have the most words of a query, cut between words; an ellipsis counts. */
export const snippetOf = (content: string, found: Found[]): Snippet => {
  const points = [...content]
  if (points.length <= maxLength) return { text: content, start: 0, end: points.length }
  const [start, end] = cut(points, found)
  const text = points.slice(start, end).join('')
  return { text: `${start > 0 ? '…' : ''}${text}${end < points.length ? '…' : ''}`, start, end }
}
