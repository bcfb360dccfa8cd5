// Where hits have the words of a query, and the part of a biography that shows them.

import { createFinder, groupBy, type Match, type Place, type Wanted } from '../_shared/find_words.ts'
import { type Snippet, snippetOf } from '../_shared/snippet.ts'

export interface Hit {
  name: string
  city: string | null
  country: string | null
  biography: string | null
  interests: string[]
}

/** Matches that touch are one. */
const merge = (matches: Place[]): Place[] => {
  const merged: Place[] = []
  const inOrder = matches.toSorted((one, other) => (one.index ?? 0) - (other.index ?? 0) || one.start - other.start)
  for (const { index, start, length } of inOrder) {
    const last = merged.at(-1)
    if (last && last.index === index && start <= last.start + last.length) {
      last.length = Math.max(last.length, start + length - last.start)
    } else merged.push({ index, start, length })
  }
  return merged
}

/** Of each word only the matches with the fewest typing errors in the hit, as in its score. */
const closest = (matches: Match[]): Match[] => {
  const fewest = new Map<number, number>()
  for (const { unit, typos } of matches) fewest.set(unit, Math.min(typos, fewest.get(unit) ?? typos))
  return matches.filter(({ unit, typos, isMarked }) => isMarked && typos === fewest.get(unit))
}

/** What a snippet shows of the matches. An ellipsis stands for what is left out before it. */
const clip = (matches: Match[], snippet: Snippet): Match[] => {
  const hidden = Math.max(0, snippet.start - 1)
  return matches.map((match) => {
    const start = Math.max(match.start, snippet.start)
    const end = Math.min(match.start + match.length, snippet.end)
    return { ...match, field: '_snippet', start: start - hidden, length: end - start }
  }).filter(({ length }) => length > 0)
}

/** Adds where each hit has what is wanted, and a snippet of its biography, which is a field of _matches, too. */
export const highlight = <One extends Hit>(hits: One[], wanted: Wanted[]) => {
  const find = createFinder(wanted)
  return hits.map((hit): One & { _matches: Record<string, Place[]>; _snippet: string | null } => {
    const { name, city, country, biography, interests } = hit
    const matches = closest([
      ...Object.entries({ name, city, country, biography }).flatMap(([field, value]) => find(value ?? '', field)),
      ...interests.flatMap((value, index) => find(value, 'interests', index)),
    ])
    const inBiography = matches.filter(({ field }) => field === 'biography')
    const snippet = biography === null ? null : snippetOf(biography, inBiography)
    const fields = groupBy([...matches, ...snippet ? clip(inBiography, snippet) : []], ({ field }) => field)
    return {
      ...hit,
      _matches: Object.fromEntries([...fields].map(([field, found]) => [field, merge(found)])),
      _snippet: snippet?.text ?? null,
    }
  })
}
