// Where a text has the words of a query. A hundred biographies full of matches take .1 s; in SQL they took 4 s.

import { unspaced, wordsOf } from './fold.ts'
import { lengthOf } from './snippet.ts'

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

/** In code points of the field as printed; `index` says which of the interests. */
export interface Place {
  index?: number
  start: number
  length: number
}

export interface Match extends Place {
  field: string
  unit: number
  typos: number
  isMarked: boolean
}

/** Map.groupBy, which Node 20 does not have. */
export const groupBy = <Item, Key>(items: Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> => {
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

export const createFinder = (wanted: Wanted[]) => {
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
