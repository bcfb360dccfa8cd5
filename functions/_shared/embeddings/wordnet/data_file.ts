// The layout of wordnet.bin, which scripts/embedder/pack.ts writes and the embedder reads. Integers are unsigned,
// little-endian.
//
//   0   24  the model's name, ASCII, padded with zero bytes
//  24    4  checksum: Adler-32 (RFC 1950) of every byte after the header
//  28    4  bytes of the notices
//  32    4  number of words
//  36    4  bytes of the word list
//  40    4  bytes of the glossary
//  44    -  the notices (the licences that have to stay with every copy)
//   -    -  the word list, sorted, front-coded (word_table.ts)
//   -    -  the glossary: lines of a foreign form, a tab, and the row of the word that it stands for in base 36
//   -    n  a byte for each word: its weight in a text, 255 for the most
//   -  n*k  half a byte for each component of each word's vector: signed, -7 to 7, the even component in the low half.
//           Only the directions of vectors matter, so their lengths are not kept.
import { readWordTable, type WordTable } from './word_table.ts'

/** Stored with each vector. Vectors of different models cannot be compared. */
export const model = 'offline-wordnet-v2'

/** Components of a word's vector. */
export const wordDimensions = 192

export const headerBytes = 44
export const nameBytes = 24
export const rowBytes = wordDimensions / 2

export type WordVectors = {
  /** The row of each word is its place; collocations have an underscore. */
  words: WordTable
  /** The row of each form of a foreign word. */
  glossary: ReadonlyMap<string, number>
  weights: Uint8Array
  vectors: Uint8Array
}

/**
 * Adler-32, which detects every change within one byte. It takes 3 ms (10 before it is optimized); a CRC-32 from a
 * table takes 8 (50).
 */
export const adler32 = (bytes: Uint8Array): number => {
  let a = 1
  let b = 0
  for (let start = 0; start < bytes.length; start += 3800) {
    // 3800 bytes at most keep the sums below 2^31, where they are plain integers to the engine.
    const end = Math.min(start + 3800, bytes.length)
    for (let i = start; i < end; i++) b += a += bytes[i]!
    a %= 65521
    b %= 65521
  }
  return (b << 16 | a) >>> 0
}

/** Reads wordnet.bin, or throws an error that says what is wrong with it. The result refers to `bytes`. */
export const readDataFile = (bytes: Uint8Array): WordVectors => {
  const fail = (reason: string): never => {
    throw new Error(`Not a data file of ${model}: ${reason}`)
  }
  if (bytes.length < headerBytes) fail(`${bytes.length} bytes are too few for a header`)
  const name = new TextDecoder().decode(bytes.subarray(0, nameBytes)).replace(/\0+$/, '')
  if (name !== model) fail('it does not begin with that name')

  const fields = new DataView(bytes.buffer, bytes.byteOffset + nameBytes, headerBytes - nameBytes)
  const [checksum, noticeLength, count, listLength, glossaryLength] = [0, 4, 8, 12, 16]
    .map((at) => fields.getUint32(at, true)) as [number, number, number, number, number]
  const listAt = headerBytes + noticeLength
  const glossaryAt = listAt + listLength
  const weightsAt = glossaryAt + glossaryLength
  const vectorsAt = weightsAt + count
  const end = vectorsAt + count * rowBytes
  if (bytes.length !== end) fail(`it has ${bytes.length} bytes where its header promises ${end}`)
  if (adler32(bytes.subarray(headerBytes)) !== checksum) fail('its checksum does not match, so it is damaged')

  const words = readWordTable(bytes.subarray(listAt, glossaryAt), count)
  if (words.count !== count) fail(`it lists ${words.count} words where its header promises ${count}`)
  const glossary = new TextDecoder().decode(bytes.subarray(glossaryAt, weightsAt)).split('\n').slice(0, -1)
  return {
    words,
    glossary: new Map(glossary.map((line) => {
      const [form, row] = line.split('\t') as [string, string]
      return [form, parseInt(row, 36)]
    })),
    weights: bytes.subarray(weightsAt, vectorsAt),
    vectors: bytes.subarray(vectorsAt, end),
  }
}
