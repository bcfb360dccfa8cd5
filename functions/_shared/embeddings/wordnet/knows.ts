import { formsOf, stopWords } from './english.ts'
import { allWordsOf, foreignStopWords, stemOf } from './foreign.ts'

/** The words that wordnet.bin has: English ones, and forms of the glossary. */
interface Vocabulary {
  isEnglish: (word: string) => boolean
  isForm: (form: string) => boolean
}

/** The words of a text with the English words that each may stand for; none for stop words and unknown words. */
export const readWords = (text: string, { isEnglish, isForm }: Vocabulary) => {
  const words = allWordsOf(text, isForm)
  return { words, forms: words.map((word) => stopWords.has(word) ? [] : formsOf(word, isEnglish)) }
}

/** Whether a word has a meaning or is a stop word, in any of the languages, inflected too. */
export const isKnown = (word: string, vocabulary: Vocabulary): boolean => {
  const { words, forms } = readWords(word, vocabulary)
  return words.length > 0 &&
    words.every((one, i) =>
      forms[i]!.length > 0 || stopWords.has(one) || foreignStopWords.has(one) || vocabulary.isForm(one) ||
      vocabulary.isForm(stemOf(one) ?? '')
    )
}
