import { deflateRawSync } from 'node:zlib'
import type { PackedVocabulary } from '../functions/_shared/embeddings/packed_vocabulary.ts'
import { headerBytes, nameBytes } from '../functions/_shared/embeddings/wordnet/data_file.ts'
import { readWordTable } from '../functions/_shared/embeddings/wordnet/word_table.ts'

const file = new URL('../functions/_shared/embeddings/wordnet/wordnet.bin', import.meta.url)

/** Front-codes single words (word_table.ts); collocations are not asked for one by one. */
const pack = (list: Uint8Array, count: number): { packed: string; count: number } => {
  const table = readWordTable(list, count)
  const encoder = new TextEncoder()
  const coded: number[] = []
  let before = new Uint8Array()
  let kept = 0
  for (let place = 0; place < count; place++) {
    const word = table.wordAt(place)
    if (/[_?]/.test(word)) continue
    const bytes = encoder.encode(word)
    let shared = 0
    while (shared < 35 && shared < before.length && before[shared] === bytes[shared]) shared++
    coded.push(shared.toString(36).charCodeAt(0), ...bytes.subarray(shared), 10)
    before = bytes
    kept++
  }
  return { packed: deflateRawSync(new Uint8Array(coded), { level: 9 }).toString('base64'), count: kept }
}

/** The words of wordnet.bin, without their vectors. */
export const packVocabulary = (): PackedVocabulary => {
  const bytes = Deno.readFileSync(file)
  const fields = new DataView(bytes.buffer, bytes.byteOffset + nameBytes, headerBytes - nameBytes)
  const [noticeLength, count, listLength, formCount, formsLength] = [4, 8, 12, 16, 20]
    .map((at) => fields.getUint32(at, true)) as [number, number, number, number, number]
  const listAt = headerBytes + noticeLength
  const words = pack(bytes.subarray(listAt, listAt + listLength), count)
  const forms = pack(bytes.subarray(listAt + listLength, listAt + listLength + formsLength), formCount)
  return { words: words.packed, wordCount: words.count, forms: forms.packed, formCount: forms.count }
}
