// glossary.tsv: words of other languages and the English words that they stand for.
import { wordsOf } from '../functions/_shared/embeddings/wordnet/english.ts'
import { stemOf } from '../functions/_shared/embeddings/wordnet/foreign.ts'
import { linesOf } from './overlay.ts'

/** A concept: the rows of English words, and the forms of other languages as the embedder looks them up. */
export type Concept = { english: string[]; forms: string[] }

/** A form as the embedder sees it: without accents, an underscore between words. */
const folded = (form: string) => wordsOf(form).join('_')

/** Finds the rows of words and phrases; undefined for one that has none. */
type RowOf = (phrase: string) => string | undefined

/** The row of an English phrase, or of each of its words if it has none itself. */
const rowsOf = (phrase: string, rowOf: RowOf): string[] => {
  const row = rowOf(phrase)
  if (row !== undefined) return [row]
  return phrase.includes('_') ? phrase.split('_').flatMap((word) => rowsOf(word, rowOf)) : []
}

/** Reads the lines after the header: English words with commas between, then a column of forms for each language. */
export const parseGlossary = (text: string, rowOf: RowOf): Concept[] =>
  linesOf(text).slice(1).map((line) => {
    const [words = '', ...columns] = line.split('\t')
    const english = [...new Set(words.split(',').map(folded).flatMap((phrase) => rowsOf(phrase, rowOf)))]
    if (english.length === 0) throw new Error(`The vocabulary lacks the English words of the glossary's line ${words}`)
    return { english, forms: columns.flatMap((column) => column.split('|').map(folded).filter((form) => form !== '')) }
  })

/** Name of the row of a concept of several English words, which no text can contain. */
export const conceptName = ({ english }: Concept): string => english.join('+')

/**
 * The concept of each form, and of each stem that only one concept has. The first concept keeps a form of several. A
 * form that is usually English is marked with `?`.
 */
export const formsOfConcepts = (
  concepts: Concept[],
  isEnglish: (form: string, concept: string) => boolean,
): Map<string, string> => {
  const forms = new Map<string, string>()
  const stems = new Map<string, string | null>()
  for (const concept of concepts) {
    const name = conceptName(concept)
    for (const form of concept.forms) {
      const key = isEnglish(form, name) ? `?${form}` : form
      if (!forms.has(key)) forms.set(key, name)
      const stem = /^[a-z]+$/.test(form) ? stemOf(form) : undefined
      if (stem !== undefined) stems.set(stem, stems.has(stem) && stems.get(stem) !== name ? null : name)
    }
  }
  for (const [stem, name] of stems) if (name !== null) forms.set(stem, name)
  return forms
}
