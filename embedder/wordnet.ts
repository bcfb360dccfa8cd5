// Reads the dictionary files of Princeton WordNet 3.1; the manual page wndb(5WN) describes their format.

/** A relation to another synset: `@` hypernym, `~` hyponym and so on, as wninput(5WN) lists them. */
export type Pointer = { relation: string; synset: number }

/** One meaning, the lemmas that have it (lower case, underscores between words), and its definition with examples. */
export type Synset = { lemmas: string[]; pointers: Pointer[]; gloss: string }

/** A sense of a lemma, how often hand-tagged texts use it, and its rank among the lemma's senses, from 1. */
export type Sense = { synset: number; tagCount: number; rank: number }

export type WordNet = { synsets: Synset[]; senses: Map<string, Sense[]> }

const partsOfSpeech = { noun: 'n', verb: 'v', adj: 'a', adv: 'r' }

/** The part of speech by its number in sense keys; 5 is the adjective satellite, in the file of the adjectives. */
const partByNumber = ['', 'n', 'v', 'a', 'r', 'a']

const linesOf = (path: string): string[] =>
  new TextDecoder('latin1').decode(Deno.readFileSync(path)).split('\n').filter((line) => line !== '')

/**
 * A line of a data file: `offset file type count(hex) {word id}… count {relation offset type source/target}… | gloss`.
 * Its pointers name synsets by part of speech and offset, which only later lines may define.
 */
const parseSynset = (part: string, line: string) => {
  const bar = line.indexOf(' | ')
  const fields = line.slice(0, bar).split(' ')
  const wordCount = parseInt(fields[3]!, 16)
  // Adjectives may carry their syntactic position, as in `asleep(p)`.
  const words = Array.from({ length: wordCount }, (_, i) => fields[4 + 2 * i]!.replace(/\(.+\)$/, ''))
  const pointersAt = 4 + 2 * wordCount
  const pointers = Array.from({ length: Number(fields[pointersAt]) }, (_, i) => {
    const [relation, offset, part] = fields.slice(pointersAt + 1 + 4 * i) as [string, string, string]
    return { relation, target: (part === 's' ? 'a' : part) + offset }
  })
  return { key: part + fields[0]!, file: fields[1]!, words, pointers, gloss: line.slice(bar + 3).trim() }
}

/** The synsets of data.* in a folder, whose keys are the part of speech and the offset. */
export const readSynsets = (folder: string) =>
  Object.entries(partsOfSpeech).flatMap(([file, part]) =>
    // The licence at the head of each file is indented.
    linesOf(`${folder}/data.${file}`).filter((line) => !line.startsWith(' ')).map((line) => parseSynset(part, line))
  )

/** The lines of index.sense: `hike%2:38:00:: 01921101 1 2` has the sense key, the offset, rank and tag count. */
export const readSenses = (folder: string) =>
  linesOf(`${folder}/index.sense`).map((line) => {
    const [key, offset, rank, tagCount] = line.split(' ') as [string, string, string, string]
    const [lemma, rest] = key.split('%') as [string, string]
    return { lemma, key: partByNumber[Number(rest.charAt(0))] + offset, tagCount: Number(tagCount), rank: Number(rank) }
  })

/** The order of the files numbers synsets and lemmas, the same each time. */
export const readWordNet = (folder: string): WordNet => {
  const parsed = readSynsets(folder)
  const byKey = new Map(parsed.map(({ key }, i) => [key, i]))
  const synsets = parsed.map(({ words, pointers, gloss }) => ({
    lemmas: words.map((word) => word.toLowerCase()),
    gloss,
    pointers: pointers.map(({ relation, target }) => ({ relation, synset: byKey.get(target)! })),
  }))
  const senses = readSenses(folder).map(({ key, ...sense }) => ({ ...sense, synset: byKey.get(key)! }))
  return { synsets, senses: Map.groupBy(senses, ({ lemma }) => lemma) }
}
