// The spelling of a text, for words without a vector: names, other languages, typing errors.

export const spellingDimensions = 128

/** The length of all character trigrams of an unknown word together. The whole word has 1, so both weigh the same. */
const trigramWeight = 1

/** A 32-bit hash: FNV-1a, then the finaliser of MurmurHash3, without which the low bits of short strings are poor. */
const hash = (text: string): number => {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 15), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** Adds a feature at its hashed place with its hashed sign (Weinberger et al. 2009, "Feature hashing"). */
const addFeature = (spelling: Float32Array, feature: string, weight: number) => {
  const h = hash(feature)
  spelling[h % spellingDimensions]! += h >>> 31 ? weight : -weight
}

/** Adds a word as a whole, which is enough for a word with a vector. */
export const addWord = (spelling: Float32Array, word: string, weight: number) =>
  addFeature(spelling, `word ${word}`, weight)

/** Adds a word and its character trigrams, most of which its inflections and misspellings share. */
export const addUnknownWord = (spelling: Float32Array, word: string) => {
  addWord(spelling, word, 1)
  const letters = ['^', ...word, '$']
  const each = trigramWeight / Math.sqrt(letters.length - 2)
  for (let i = 0; i + 3 <= letters.length; i++) addFeature(spelling, letters.slice(i, i + 3).join(''), each)
}
