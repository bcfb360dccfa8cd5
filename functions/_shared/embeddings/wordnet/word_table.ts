// A sorted list of words in one piece of memory, in which a word is found by halves. A Map of 80,000 strings takes five
// times as long to fill, and all of that at the first search of a process.

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
  let word = 0
  let end = 0
  let isFirst = true
  for (const byte of list) {
    if (isFirst) {
      const before = starts[word - 1]!
      for (let shared = byte < 58 ? byte - 48 : byte - 87, i = 0; i < shared; i++) letters[end++] = letters[before + i]!
    } else if (byte === 10) starts[++word] = end
    else letters[end++] = byte
    isFirst = byte === 10
  }

  /** Below 0 if the word at this place comes before this one, 0 if it is the same. */
  const compare = (place: number, word: string): number => {
    const from = starts[place]!
    const length = starts[place + 1]! - from
    for (let i = 0; i < word.length && i < length; i++) {
      const difference = letters[from + i]! - word.charCodeAt(i)
      if (difference !== 0) return difference
    }
    return length - word.length
  }
  return {
    count: word,
    /** The place of a word in the list; undefined for a word that is not in it. */
    placeOf: (text: string): number | undefined => {
      const word = bytesOf(text)
      let from = 0
      let to = count
      while (from < to) {
        const middle = (from + to) >> 1
        const order = compare(middle, word)
        if (order === 0) return middle
        if (order < 0) from = middle + 1
        else to = middle
      }
    },
    wordAt: (place: number): string => new TextDecoder().decode(letters.subarray(starts[place], starts[place + 1])),
  }
}
