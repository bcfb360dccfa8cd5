// Chooses the words that get a vector.
import { stopWords } from '../functions/_shared/embeddings/wordnet/english.ts'
import type { Frequencies } from './frequencies.ts'
import type { Lexicon } from './lexicon.ts'

/** 96 bytes for a vector and some 8 for the rest: 81,000 words come to 8.5 MB. */
const wordLimit = 76_000

/** A collocation that no list of frequent ones has needs this many uses by glosses. */
const fullUses = 20

/**
 * How common a lemma is: its uses in glosses, plus three times those in tagged text, which is running language and has
 * smaller counts.
 */
export const commonness = ({ glossCounts, tagCounts }: Lexicon, lemma: number): number =>
  glossCounts[lemma]! + 3 * tagCounts[lemma]!

/**
 * Numbers of the chosen lemmas, the most common first: words that people use, in the list of frequencies or our own,
 * then words that WordNet uses, and collocations of two words that people or WordNet use.
 */
export const chooseVocabulary = (lexicon: Lexicon, frequencies: Frequencies, always: Set<string>): number[] => {
  const { lemmas } = lexicon
  const uses = lemmas.map((_, lemma) => commonness(lexicon, lemma))
  const isUsed = (lemma: number) => always.has(lemmas[lemma]!) || frequencies.has(lemmas[lemma]!)
  const shaped = (shape: RegExp) =>
    lemmas.flatMap((lemma, i) => shape.test(lemma) && !lemma.split('_').some((part) => stopWords.has(part)) ? [i] : [])
  const words = shaped(/^(?=.*[a-z])[a-z0-9]{2,}$/)
    .sort((a, b) => Number(isUsed(b)) - Number(isUsed(a)) || uses[b]! - uses[a]! || a - b)
    .slice(0, wordLimit)
  const collocations = shaped(/^[a-z0-9]+_[a-z0-9]+$/).filter((lemma) => isUsed(lemma) || uses[lemma]! > fullUses)
  return [...words, ...collocations].sort((a, b) => uses[b]! - uses[a]! || a - b)
}
