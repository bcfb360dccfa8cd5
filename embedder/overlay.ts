// Our additions to WordNet 3.1: glosses.txt for words that it lacks (wifi) or has in another sense (host: an army), and
// words.txt for words that it has and rarely uses.
import { stopWords } from '../functions/_shared/embeddings/wordnet/english.ts'
import type { WordNet } from './wordnet.ts'

/** How much the added sense outweighs all other senses of the word: by 3 to 1, and with at least 8 taggings. */
const dominance = 3
const leastTagCount = 8

/** The lines of a file of ours, without comments. */
export const linesOf = (text: string): string[] =>
  text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))

/** The embedder looks up single words and pairs, and skips stop words. */
const checkReachable = (word: string) => {
  const parts = word.split('_')
  if (parts.length > 2 || parts.some((part) => stopWords.has(part) || !/^[a-z0-9]+$/.test(part))) {
    throw new Error(`No text can match "${word}": use one or two plain words, no stop words`)
  }
}

const parseGlosses = (text: string): { lemmas: string[]; gloss: string }[] =>
  linesOf(text).map((line) => {
    const [words = '', gloss = ''] = line.split('|').map((part) => part.trim())
    if (words === '' || gloss === '') throw new Error(`A gloss needs words, a bar and text: ${line}`)
    return { lemmas: words.split(',').map((word) => word.trim().replaceAll(' ', '_')), gloss }
  })

/**
 * Adds each line of the glosses (`word, two words | gloss`) as one synset, the main sense of all its words. Changes the
 * given WordNet, and returns the words of both texts, which the vocabulary must hold.
 */
export const addOverlay = ({ synsets, senses }: WordNet, glosses: string, words: string): Set<string> => {
  const wanted = new Set(linesOf(words).flatMap((line) => line.trim().split(/\s+/)))
  for (const word of wanted) {
    if (!senses.has(word)) throw new Error(`WordNet lacks "${word}", which therefore needs a gloss`)
  }
  for (const { lemmas, gloss } of parseGlosses(glosses)) {
    const synset = synsets.push({ lemmas, pointers: [], gloss }) - 1
    for (const lemma of lemmas) {
      const known = senses.get(lemma) ?? []
      const tagged = known.reduce((sum, { tagCount }) => sum + tagCount, 0)
      senses.set(lemma, [...known, { synset, tagCount: Math.max(leastTagCount, dominance * tagged), rank: 1 }])
      wanted.add(lemma)
    }
  }
  wanted.forEach(checkReachable)
  return wanted
}
