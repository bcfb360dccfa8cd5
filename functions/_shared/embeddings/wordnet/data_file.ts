// The layout of wordnet.bin, which embedder/pack.ts writes and the embedder reads. Integers are unsigned,
// little-endian.
//
//   0   24  the model's name, ASCII, padded with zero bytes
//  24    4  checksum: Adler-32 (RFC 1950) of every byte after the header
//  28    4  bytes of the notices
//  32    4  number of words
//  36    4  bytes of the word list
//  40    4  number of forms in the glossary
//  44    4  bytes of their list
//  48    -  the notices (the licences that have to stay with every copy)
//   -    -  the word list, sorted, front-coded (word_table.ts)
//   -    -  the forms of the glossary, likewise: foreign words, `stem~`, `?form` of one that is usually English,
//           `several_words`, and `several_` where such a form begins
//   -  4*f  for each form the row of the word that it stands for
//   -    n  a byte for each word: its weight in a text, 255 for the most
//   -  n*k  half a byte for each component of each word's vector: signed, -7 to 7, the even component in the low half.
//           Only the directions of vectors matter, so their lengths are not kept.
import { readWordTable } from './word_table.ts'

/** Stored with each vector. Vectors of different models cannot be compared. */
export const model = 'offline-wordnet-v3'

/** Components of a word's vector. */
export const wordDimensions = 192

export const headerBytes = 48
export const nameBytes = 24
export const rowBytes = wordDimensions / 2

/** Adler-32 detects every change within one byte, in 3 ms (10 before it is optimized). A CRC-32 takes 8 (50). */
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
export const readDataFile = (bytes: Uint8Array) => {
  const fail = (reason: string): never => {
    throw new Error(`Not a data file of ${model}: ${reason}`)
  }
  if (bytes.length < headerBytes) fail(`${bytes.length} bytes are too few for a header`)
  const name = new TextDecoder().decode(bytes.subarray(0, nameBytes)).replace(/\0+$/, '')
  if (name !== model) fail('it does not begin with that name')

  const fields = new DataView(bytes.buffer, bytes.byteOffset + nameBytes, headerBytes - nameBytes)
  const [checksum, noticeLength, count, listLength, formCount, formsLength] = [0, 4, 8, 12, 16, 20]
    .map((at) => fields.getUint32(at, true)) as [number, number, number, number, number, number]
  const listAt = headerBytes + noticeLength
  const formsAt = listAt + listLength
  const targetsAt = formsAt + formsLength
  const weightsAt = targetsAt + 4 * formCount
  const vectorsAt = weightsAt + count
  const end = vectorsAt + count * rowBytes
  if (bytes.length !== end) fail(`it has ${bytes.length} bytes where its header promises ${end}`)
  if (adler32(bytes.subarray(headerBytes)) !== checksum) fail('its checksum does not match, so it is damaged')

  const words = readWordTable(bytes.subarray(listAt, formsAt), count)
  const forms = readWordTable(bytes.subarray(formsAt, targetsAt), formCount)
  if (words.count !== count) fail(`it lists ${words.count} words where its header promises ${count}`)
  if (forms.count !== formCount) fail(`it lists ${forms.count} forms where its header promises ${formCount}`)
  const targets = new DataView(bytes.buffer, bytes.byteOffset + targetsAt, 4 * formCount)
  return {
    /** The row of each word is its place; collocations have an underscore. */
    words,
    /** The row that a form of the glossary stands for. */
    translate: (form: string): number | undefined => {
      const place = forms.placeOf(form)
      return place === undefined ? undefined : targets.getUint32(4 * place, true)
    },
    weights: bytes.subarray(weightsAt, vectorsAt),
    vectors: bytes.subarray(vectorsAt, end),
  }
}
