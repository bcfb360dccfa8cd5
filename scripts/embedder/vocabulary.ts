// Chooses the words that get a vector.
import { stopWords } from '../../functions/_shared/embeddings/wordnet/english.ts'
import type { Lexicon } from './lexicon.ts'

/** 128 bytes for a vector and some 7 for the rest: 29,000 words come to 3.9 MB. */
const wordLimit = 26_000
const collocationLimit = 3_000

/**
 * Lemmas whose first sense, with everything below it, is frequent in travellers' profiles. Glosses rarely use such
 * words: by glosses alone 75 of 266 everyday ones (kayak, karaoke, sauna, Barcelona) ranked behind `iridaceae`.
 */
const topics = [
  ...['city', 'national_capital', 'island', 'mountain', 'mountain_peak', 'building'],
  ...['food', 'diversion', 'musical_instrument', 'music_genre', 'martial_art', 'boat'],
  ...['traveler', 'domestic_animal', 'religion', 'european', 'asian', 'african', 'american'],
]

/** The bonus for being on topic, in uses by glosses. */
const topicBonus = 4

/**
 * Long words are rarer (Zipf 1935): the penalty of each letter, in uses by glosses. It decides between words that
 * hardly differ otherwise.
 */
const letterCost = 0.2

/**
 * How common a lemma is: its uses in glosses, plus three times those in tagged text, which is running language and has
 * smaller counts.
 */
export const commonness = ({ glossCounts, tagCounts }: Lexicon, lemma: number): number =>
  glossCounts[lemma]! + 3 * tagCounts[lemma]!

/**
 * The synset of a lemma's first sense that has relations (a gloss of ours has none), and all hyponyms and instances
 * below.
 */
const below = ({ senses, synsets }: Lexicon, lemma: string): Set<number> => {
  const root = senses.get(lemma)?.find(({ synset, rank }) => rank === 1 && synsets[synset]!.pointers.length > 0)
  if (root === undefined) throw new Error(`No synset for the topic ${lemma}`)
  const found = new Set([root.synset])
  // Iterating over a set includes elements that are added meanwhile.
  for (const synset of found) {
    for (const { relation, synset: other } of synsets[synset]!.pointers) if (relation.startsWith('~')) found.add(other)
  }
  return found
}

/** Numbers of the chosen lemmas: single words, the most common first, then collocations of two words, likewise. */
export const chooseVocabulary = (
  lexicon: Lexicon,
  always: Set<string>,
): { words: number[]; collocations: number[] } => {
  const { lemmas, meanings } = lexicon
  const onTopic = new Set(topics.flatMap((topic) => [...below(lexicon, topic)]))
  // A lemma with many senses is more common than its gloss count suggests.
  const score = meanings.map((senses, lemma) =>
    always.has(lemmas[lemma]!) ? Infinity : commonness(lexicon, lemma) + 0.5 * senses.length +
      (senses.some(([synset]) => onTopic.has(synset)) ? topicBonus : 0) - letterCost * lemmas[lemma]!.length
  )
  const best = (shape: RegExp, limit: number) =>
    lemmas.flatMap((lemma, i) => shape.test(lemma) && !lemma.split('_').some((part) => stopWords.has(part)) ? [i] : [])
      .sort((a, b) => score[a] === score[b] ? a - b : score[b]! - score[a]!)
      .slice(0, limit)
  return {
    words: best(/^(?=.*[a-z])[a-z0-9]{2,}$/, wordLimit),
    collocations: best(/^[a-z0-9]+_[a-z0-9]+$/, collocationLimit),
  }
}
