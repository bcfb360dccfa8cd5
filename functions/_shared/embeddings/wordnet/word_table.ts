// A list of words in one piece of memory and a hash table of their places. A Map of 80,000 strings takes five times as
// long to fill, and all of that at the first search of a process.

/** The finaliser of MurmurHash3, without which the low bits of the words' FNV-1a hashes are poor. */
const finish = (h: number): number => {
  h = Math.imul(h ^ (h >>> 15), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
const start = 0x811c9dc5
const prime = 0x01000193

const encoder = new TextEncoder()
/** The bytes of a word as the characters of a string; those of an ASCII word are its own. */
const bytesOf = (word: string): string => /[^\0-\x7f]/.test(word) ? String.fromCharCode(...encoder.encode(word)) : word

/**
 * Reads a front-coded list: each word is a base-36 digit counting the characters it shares with the word before it, the
 * remaining ones, and a line feed. Characters are bytes of UTF-8.
 */
export const readWordTable = (list: Uint8Array, count: number) => {
  const letters = new Uint8Array(list.length * 4)
  const starts = new Uint32Array(count + 1)
  const mask = 2 ** Math.ceil(Math.log2(count * 2 + 1)) - 1
  // Zero is an empty slot, so places are stored plus one.
  const slots = new Int32Array(mask + 1)
  let word = 0
  let end = 0
  let hash = start
  let shared = -1
  for (const byte of list) {
    if (shared < 0) {
      shared = byte < 58 ? byte - 48 : byte - 87
      const before = starts[word - 1] ?? 0
      for (let i = 0; i < shared; i++) hash = Math.imul(hash ^ (letters[end++] = letters[before + i]!), prime)
    } else if (byte !== 10) {
      hash = Math.imul(hash ^ (letters[end++] = byte), prime)
    } else {
      let slot = finish(hash) & mask
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = ++word
      starts[word] = end
      hash = start
      shared = -1
    }
  }

  const isAt = (place: number, word: string): boolean => {
    const from = starts[place]!
    if (starts[place + 1]! - from !== word.length) return false
    for (let i = 0; i < word.length; i++) if (letters[from + i] !== word.charCodeAt(i)) return false
    return true
  }
  return {
    count: word,
    /** The place of a word in the list; undefined for a word that is not in it. */
    placeOf: (text: string): number | undefined => {
      const word = bytesOf(text)
      let hash = start
      for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), prime)
      for (let slot = finish(hash) & mask; slots[slot] !== 0; slot = (slot + 1) & mask) {
        if (isAt(slots[slot]! - 1, word)) return slots[slot]! - 1
      }
    },
    wordAt: (place: number): string => new TextDecoder().decode(letters.subarray(starts[place], starts[place + 1])),
  }
}
