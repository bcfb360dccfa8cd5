// topics.txt: words that belong together in the life of travellers and hosts, though WordNet keeps them apart. On 52
// queries over 78 short biographies written for this, before the topics, they took nDCG@10 from .74 to .87, and the
// correlation with people's judgement of 3,000 pairs of words (MEN) from .72 to .77. Moving other words, near to a
// topic's words by cosine or by PageRank, along with them changed neither.
import { formsOf, stopWords, wordsOf } from '../functions/_shared/embeddings/wordnet/english.ts'
import { linesOf } from './overlay.ts'
import type { Word } from './pack.ts'

export type Topic = { name: string; phrases: string[][] }

/**
 * How far the words of one topic move towards their mean direction; their own weighs 1. On the 52 queries above hardly
 * anything changed from .6 to 2.5; on the labelled set .6 gives paraphrases .57, 1 gives .59, 2 and 3 give .61.
 */
const pull = 2

/** Lines of `name: word, two words`. */
export const parseTopics = (text: string): Topic[] =>
  linesOf(text).map((line) => {
    const [name = '', words = ''] = line.split(':')
    const phrases = words.split(',').map(wordsOf).filter((phrase) => phrase.length > 0)
    if (phrases.length === 0) throw new Error(`A topic needs a name, a colon and words: ${line}`)
    return { name: `${wordsOf(name).join('_')}+`, phrases }
  })

/** The lemma of the given set that stands for a word or a pair of words. */
const lemmaOf = (phrase: string[], isKnown: (lemma: string) => boolean): string | undefined => {
  const [word = '', next] = phrase
  if (phrase.length > 2 || phrase.some((part) => stopWords.has(part))) return
  if (next === undefined) return formsOf(word, isKnown)[0]
  const form = [next, ...formsOf(next, isKnown)].find((form) => isKnown(`${word}_${form}`))
  return form === undefined ? undefined : `${word}_${form}`
}

/** The lemmas of a dictionary that topics name, which the vocabulary must hold. */
export const lemmasOfTopics = (topics: Topic[], isKnown: (lemma: string) => boolean): string[] =>
  topics.flatMap(({ phrases }) => phrases.flatMap((phrase) => lemmaOf(phrase, isKnown) ?? []))

/** The same direction, with length 1 (L2), unless it is zero. */
export const unit = (vector: Float32Array): Float32Array => {
  const length = Math.sqrt(vector.reduce((squares, x) => squares + x * x, 0))
  return length === 0 ? vector : vector.map((x) => x / length)
}
const add = (sum: Float32Array, vector: Float32Array) => vector.forEach((x, i) => sum[i]! += x)

/**
 * Pulls each word towards the mean directions of its topics (retrofitting, as Faruqui et al. 2015, "Retrofitting word
 * vectors to semantic lexicons", without iterating), marks it as topical, and adds those that are missing: single words
 * as words between their topics, phrases as forms of a row of their topic. Returns the row of each phrase.
 */
export const applyTopics = (topics: Topic[], words: Map<string, Word>, probability: number): Map<string, string> => {
  const moves = new Map<string, { sum: Float32Array; count: number }>()
  const phraseRows = new Map<string, string>()
  for (const { name, phrases } of topics) {
    const lemmas = new Set(phrases.flatMap((phrase) => lemmaOf(phrase, (lemma) => words.has(lemma)) ?? []))
    const missing = phrases.filter((phrase) => lemmaOf(phrase, (lemma) => words.has(lemma)) === undefined)
    if (lemmas.size === 0) throw new Error(`WordNet has none of the words of the topic ${name}`)
    const vectors = [...lemmas].map((lemma) => words.get(lemma)!.vector)
    const sum = new Float32Array(vectors[0]!.length)
    for (const vector of vectors) add(sum, vector)
    const centre = unit(sum)
    words.set(name, { spelling: name, probability, vector: centre, isTopical: true })
    for (const lemma of [...lemmas, ...missing.filter(({ length }) => length === 1).map(([word]) => word!)]) {
      if (stopWords.has(lemma)) continue
      const move = moves.get(lemma) ?? { sum: new Float32Array(centre.length), count: 0 }
      add(move.sum, centre)
      moves.set(lemma, { ...move, count: move.count + 1 })
    }
    for (const phrase of missing) {
      const form = phrase.join('_')
      if (phrase.length > 1 && !phraseRows.has(form)) phraseRows.set(form, name)
    }
  }
  for (const [spelling, { sum, count }] of moves) {
    const known = words.get(spelling)
    const moved = known?.vector.map((x, i) => x + pull / Math.sqrt(count) * sum[i]!) ?? sum
    words.set(spelling, { spelling, probability, ...known, vector: unit(moved), isTopical: true })
  }
  return phraseRows
}
