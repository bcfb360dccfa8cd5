import { offlineDictionary } from './offline.ts'
import { type PackedVocabulary, packedVocabulary } from './packed_vocabulary.ts'
import { isKnown } from './wordnet/knows.ts'
import { readWordTable } from './wordnet/word_table.ts'

const inflate = async (base64: string): Promise<Uint8Array> => {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
  const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  return new Uint8Array(await new Response(inflated).arrayBuffer())
}

/** Takes 30 ms, once in an instance that searches. */
export const loadVocabulary = async (
  { words, wordCount, forms, formCount }: PackedVocabulary,
): Promise<(word: string) => boolean> => {
  const english = readWordTable(await inflate(words), wordCount)
  const foreign = readWordTable(await inflate(forms), formCount)
  const vocabulary = {
    isEnglish: (word: string) => english.placeOf(word) !== undefined,
    isForm: (form: string) => foreign.placeOf(form) !== undefined,
  }
  return (word) => isKnown(word, vocabulary)
}

let loaded: Promise<(word: string) => boolean> | undefined

/** Tells whether a word is one, in English or in a language of the glossary. */
export const dictionary = (): Promise<(word: string) => boolean> =>
  loaded ??= packedVocabulary ? loadVocabulary(packedVocabulary) : offlineDictionary()
