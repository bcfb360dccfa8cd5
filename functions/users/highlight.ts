// Where hits have the words of a query. A hundred biographies full of matches take .1 s; in SQL they took 4 s.

import { unspaced, wordsOf } from '../_shared/fold.ts'
import { lengthOf, type Snippet, snippetOf } from './snippet.ts'

/** A word or phrase that a query looks for. */
export interface Wanted {
  unit: number
  /** `words` stand side by side, in this order; else each of them will do. */
  phrase: boolean
  quoted: boolean
  /** Half of the profiles have it, as "the" and "in". */
  common: boolean
  /** Folded. `prefix`: whatever begins so; `typos`: how many typing errors the query has if this is meant. */
  words: { word: string; typos: number; prefix: boolean }[]
}

export interface Hit {
  name: string
  city: string | null
  country: string | null
  biography: string | null
  interests: string[]
}

/** In code points of the field as printed; `index` says which of the interests. */
export interface Place {
  index?: number
  start: number
  length: number
}

interface Match extends Place {
  field: string
  unit: number
  typos: number
  isMarked: boolean
}

/** Map.groupBy, which Node 20 does not have. */
const groupBy = <Item, Key>(items: Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> => {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item)) ?? []
    group.push(item)
    groups.set(keyOf(item), group)
  }
  return groups
}

/** A function that makes each value once. */
const once = <Value>(make: (text: string) => Value): (text: string) => Value => {
  const known = new Map<string, Value>()
  return (text) => {
    if (!known.has(text)) known.set(text, make(text))
    return known.get(text)!
  }
}

// What is folded together. A voiced sound mark belongs to the kana before it.
const between = '\\p{White_Space}\\p{P}\\p{Cc}$+<=>\\^`|~'
const token = new RegExp(`[${unspaced}][\\u3099\\u309a\\uff9e\\uff9f]*|[^${between}${unspaced}]+`, 'gu')

/** What is written together, and where; a token may fold into several words, and each of them is the whole token. */
const tokensOf = (text: string) => {
  const tokens: { written: string; start: number; length: number }[] = []
  let [read, end] = [0, 0]
  for (const { 0: written, index } of text.matchAll(token)) {
    const start = end + lengthOf(text.slice(read, index))
    const length = lengthOf(written)
    read = index + written.length
    end = start + length
    tokens.push({ written, start, length })
  }
  return tokens
}

/** Returns a function that finds what is wanted in a text. */
const createFinder = (wanted: Wanted[]) => {
  // Common words would hide those that say something.
  const marked = wanted.filter(({ common, quoted }) => quoted || !common || wanted.every(({ common }) => common))
  const phrases = groupBy(marked.filter(({ phrase }) => phrase), ({ words }) => words[0]?.word)
  const terms = marked.flatMap(({ phrase, unit, words }) => phrase ? [] : words.map((word) => ({ unit, ...word })))
  // The o of O'Brien is marked where another word of the query follows.
  const areLetters = marked.filter(({ quoted, words }) => !quoted && words.some(({ word }) => /^[a-z]$/.test(word)))
  const letters = new Set(wanted.length > 1 ? areLetters.map(({ unit }) => unit) : [])
  const foldOnce = once(wordsOf)
  /** What a token may stand for, each with the fewest typing errors. */
  const unitsOf = once((written) => {
    const units = new Map<number, number>()
    for (const text of foldOnce(written)) {
      for (const { unit, word, typos, prefix } of terms) {
        if (text === word || prefix && text.startsWith(word)) units.set(unit, Math.min(typos, units.get(unit) ?? typos))
      }
    }
    return units
  })
  return (text: string, field: string, index?: number): Match[] => {
    const tokens = tokensOf(text)
    const starts = new Set(tokens.filter(({ written }) => unitsOf(written).size > 0).map(({ start }) => start))
    const found: Match[] = []
    for (const { written, start, length } of tokens) {
      for (const [unit, typos] of unitsOf(written)) {
        const isMarked = !letters.has(unit) || starts.has(start + length + 1)
        found.push({ field, index, unit, typos, start, length, isMarked })
      }
    }
    if (phrases.size === 0) return found
    const words = tokens.flatMap((token) => foldOnce(token.written).map((word) => ({ word, token })))
    for (const [at, { word, token: { start } }] of words.entries()) {
      for (const { unit, words: parts } of phrases.get(word) ?? []) {
        if (!parts.every(({ word }, place) => words[at + place]?.word === word)) continue
        const last = words[at + parts.length - 1]!.token
        const length = last.start + last.length - start
        found.push({ field, index, unit, typos: 0, start, length, isMarked: true })
      }
    }
    return found
  }
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
