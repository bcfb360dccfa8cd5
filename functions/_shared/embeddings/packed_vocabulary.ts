export interface PackedVocabulary {
  /** The words of wordnet.bin without their vectors, sorted, front-coded (word_table.ts), deflated, in base64. */
  words: string
  wordCount: number
  /** The forms of its glossary, likewise. */
  forms: string
  formCount: number
}

/** In a bundle scripts/build_functions.ts puts it here, because wordnet.bin is not deployed; sources read the file. */
export const packedVocabulary = null as PackedVocabulary | null
