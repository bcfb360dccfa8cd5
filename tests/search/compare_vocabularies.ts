/**
 * Run by embedder.test.ts: asks the vocabulary that the bundles carry, and the embedder that reads wordnet.bin, about
 * every word of the file, inflected and mistyped. Prints as JSON how many were asked and known, and where they differ.
 */
import { offlineDictionary } from '../../functions/_shared/embeddings/offline.ts'
import { readDataFile } from '../../functions/_shared/embeddings/wordnet/data_file.ts'
import { loadVocabulary } from '../../functions/_shared/embeddings/vocabulary.ts'
import { packVocabulary } from '../../scripts/pack_vocabulary.ts'

const file = new URL('../../functions/_shared/embeddings/wordnet/wordnet.bin', import.meta.url)
const isDictionaryWord = await offlineDictionary()
const isInBundle = await loadVocabulary(packVocabulary())
const { words } = readDataFile(Deno.readFileSync(file))
const found = { asked: 0, known: 0, differ: [] as string[] }
for (let place = 0; place < words.count; place += 3) {
  const word = words.wordAt(place)
  for (const asked of [word, `${word}s`, `${word}ing`, word.slice(1), `${word.slice(0, 2)}x${word.slice(2)}`]) {
    const isKnown = isDictionaryWord(asked)
    found.asked++
    found.known += Number(isKnown)
    if (isKnown !== isInBundle(asked)) found.differ.push(asked)
  }
}
for (const word of ['Wandern', 'caminhadas', 'cucinare', 'pêche', '山歩き', 'sporst', 'qqqq', '']) {
  if (isDictionaryWord(word) !== isInBundle(word)) found.differ.push(word)
}
console.log(JSON.stringify(found))
