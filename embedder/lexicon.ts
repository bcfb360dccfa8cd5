// Numbers the lemmas and counts their senses, glosses and frequencies.
import { formsOf, stopWords, wordsOf } from '../functions/_shared/embeddings/wordnet/english.ts'
import type { WordNet } from './wordnet.ts'

export type Lexicon = WordNet & {
  lemmas: string[]
  numbers: Map<string, number>
  /** For each lemma its synsets and their probabilities, p(synset | lemma). */
  meanings: [synset: number, probability: number][][]
  /** For each lemma how often tagged texts used it in any sense. */
  tagCounts: Float64Array
  /** For each synset the lemmas of its gloss and how often they occur. */
  glosses: Map<number, number>[]
  /** For each lemma how often glosses use it; a form of two lemmas counts half for each. */
  glossCounts: Float64Array
  /** For each lemma ln(synsets / (1 + synsets whose gloss uses it)). */
  inverseFrequencies: Float64Array
}

/** An example shows a word in use and says less about its meaning than the definition does. */
const exampleWeight = 0.5

/** p(synset | lemma) ~ tag count + 1 / rank: 86 % of the lemmas were never tagged and have only ranks. */
const meaningsOf = ({ senses }: WordNet, lemmas: string[]): Lexicon['meanings'] =>
  lemmas.map((lemma) => {
    const weights = senses.get(lemma)!.map((
      { synset, tagCount, rank },
    ): [number, number] => [synset, tagCount + 1 / rank])
    const sum = weights.reduce((total, [, weight]) => total + weight, 0)
    return weights.map(([synset, weight]) => [synset, weight / sum])
  })

export const readLexicon = (wordnet: WordNet): Lexicon => {
  const { synsets, senses } = wordnet
  const lemmas = [...senses.keys()]
  const numbers = new Map(lemmas.map((lemma, i) => [lemma, i]))
  const isKnown = (word: string) => numbers.has(word) && !stopWords.has(word)
  const forms = new Map<string, number[]>()
  const numbersOf = (word: string): number[] => {
    const cached = forms.get(word)
    if (cached) return cached
    const found = stopWords.has(word) ? [] : formsOf(word, isKnown).map((form) => numbers.get(form)!)
    forms.set(word, found)
    return found
  }

  const glossCounts = new Float64Array(lemmas.length)
  const uses = new Float64Array(lemmas.length)
  const glosses = synsets.map(({ gloss }) => {
    const bag = new Map<number, number>()
    const add = (lemma: number, share: number, weight: number) => {
      bag.set(lemma, (bag.get(lemma) ?? 0) + share * weight)
      glossCounts[lemma]! += share
    }
    // Examples follow the definition, in quotation marks.
    gloss.split(/;?\s*"/).forEach((part, index) => {
      const weight = index === 0 ? 1 : exampleWeight
      const words = wordsOf(part)
      words.forEach((word, i) => {
        const next = words[i + 1]
        const second = next === undefined ? undefined : formsOf(next, (form) => numbers.has(`${word}_${form}`))[0]
        if (second !== undefined) add(numbers.get(`${word}_${second}`)!, 1, weight)
        const found = numbersOf(word)
        for (const lemma of found) add(lemma, 1 / found.length, weight)
      })
    })
    for (const lemma of bag.keys()) uses[lemma]!++
    return bag
  })

  return {
    ...wordnet,
    lemmas,
    numbers,
    meanings: meaningsOf(wordnet, lemmas),
    tagCounts: Float64Array.from(
      lemmas,
      (lemma) => senses.get(lemma)!.reduce((sum, { tagCount }) => sum + tagCount, 0),
    ),
    glosses,
    glossCounts,
    inverseFrequencies: uses.map((count) => Math.log(synsets.length / (1 + count))),
  }
}
