// An offline semantic text embedder. Word vectors come from wordnet.bin (see scripts/embedder), a text is their
// weighted sum: 256 dimensions of meaning and, since no vocabulary is complete, 128 dimensions of spelling.
import { rarityScale, readDataFile, rowBytes, wordDimensions, type WordVectors } from './data_file.ts'
import { formsOf, stopWords, wordsOf } from './english.ts'
import { addUnknownWord, addWord, spellingDimensions } from './spelling.ts'

export { model } from './data_file.ts'

/** Length of every vector: 384, as of gte-small, so that one column of the database fits either. */
export const dimensions = wordDimensions + spellingDimensions

/**
 * `a` of the smooth inverse frequency a / (a + p(word)) (Arora, Liang and Ma 2017, "A simple but tough-to-beat baseline
 * for sentence embeddings", who recommend 1e-3 to 1e-4). They also remove the first principal component; here the build
 * subtracts the mean word, after which removing 0 to 3 components changed nDCG by less than .01.
 */
const smoothing = 1e-3

/** A form found in the list (`cycling`) counts this much, its base form (`cycle`) the rest. */
const surfaceShare = 0.65

/**
 * Share of spelling in the squared length: from .1 in plain English to .8 where every word is unknown, as in names and
 * other languages. With .3 in plain English, close paraphrases gained .025 correlation and retrieval lost
 * .09 nDCG.
 */
const spellingShare = { known: 0.1, unknown: 0.8 }

/** Adds the direction of a stored vector, times the weight. */
const addRow = (meaning: Float32Array, { vectors }: WordVectors, row: number, weight: number) => {
  const at = row * rowBytes
  let squares = 0
  for (let i = at; i < at + rowBytes; i++) {
    const low = vectors[i]! << 28 >> 28
    const high = vectors[i]! << 24 >> 28
    squares += low * low + high * high
  }
  if (squares === 0) return
  const scale = weight / Math.sqrt(squares)
  for (let i = 0; i < rowBytes; i++) {
    const pair = vectors[at + i]!
    meaning[2 * i]! += scale * (pair << 28 >> 28)
    meaning[2 * i + 1]! += scale * (pair << 24 >> 28)
  }
}

/** Writes the vector into `target` from `at` on, scaled to the given length; a zero vector stays one. */
const place = (target: Float32Array, at: number, vector: Float32Array, length: number) => {
  let squares = 0
  for (const x of vector) squares += x * x
  const scale = squares === 0 ? 0 : length / Math.sqrt(squares)
  for (let i = 0; i < vector.length; i++) target[at + i] = vector[i]! * scale
}

/**
 * Makes an embedder of the bytes of wordnet.bin, which it keeps and which must not change; throws if they are damaged.
 *
 * The embedder turns a text into 384 numbers of length 1 (L2), the same ones each time. A text without any usable word
 * (empty, punctuation, stop words alone) gives the zero vector, whose cosine is undefined: do not store it or search
 * with it.
 */
export const loadEmbedder = (bytes: Uint8Array): (text: string) => Float32Array => {
  const data = readDataFile(bytes)
  const { rows, rarities } = data
  const isKnown = (word: string) => rows.has(word)
  const rarityWeight = (row: number) => smoothing / (smoothing + Math.exp(-rarities[row]! / rarityScale))

  return (text) => {
    const meaning = new Float32Array(wordDimensions)
    const spelling = new Float32Array(spellingDimensions)
    const words = wordsOf(text)
    let counted = 0
    let unknown = 0

    /** The row of the collocation that a word forms with the next one: `guest` with `house`, or with `houses`. */
    const collocationAt = (i: number): number | undefined => {
      const [word, next] = [words[i], words[i + 1]]
      if (word === undefined || next === undefined || stopWords.has(word) || stopWords.has(next)) return
      const second = formsOf(next, (form) => rows.has(`${word}_${form}`))[0]
      return second === undefined ? undefined : rows.get(`${word}_${second}`)
    }

    let before: number | undefined
    words.forEach((word, i) => {
      const collocation = collocationAt(i)
      const isCovered = collocation !== undefined || before !== undefined
      before = collocation
      // A collocation counts in full, in addition to its words: it is rare, and determines what they mean here.
      if (collocation !== undefined) addRow(meaning, data, collocation, 1)
      if (stopWords.has(word)) return

      const forms = formsOf(word, isKnown)
      const [first, last] = [forms[0], forms.at(-1)]
      counted++
      if (first === undefined || last === undefined) {
        // Half of a known collocation (the `wi` of `wi fi`) is counted already.
        if (!isCovered) unknown++
        return addUnknownWord(spelling, word)
      }
      const [surface, base] = [rows.get(first)!, rows.get(last)!]
      const weight = rarityWeight(rarities[surface]! < rarities[base]! ? surface : base)
      addRow(meaning, data, surface, weight * (surface === base ? 1 : surfaceShare))
      if (surface !== base) addRow(meaning, data, base, weight * (1 - surfaceShare))
      addWord(spelling, last, weight)
    })

    const { known, unknown: all } = spellingShare
    const share = known + (all - known) * unknown / Math.max(1, counted)
    const both = new Float32Array(dimensions)
    place(both, 0, meaning, Math.sqrt(1 - share))
    place(both, wordDimensions, spelling, Math.sqrt(share))
    const vector = new Float32Array(dimensions)
    // Either part may be zero; the whole still has length 1.
    place(vector, 0, both, 1)
    return vector
  }
}
