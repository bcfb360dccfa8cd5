/**
 * Kinds of vectors for recall.ts, with queries for them, the same each time. Those of texts are of the offline embedder
 * and, as the queue of embeddings has it, of interests, place and biography.
 */
import { seededRandom } from '../../tests/tools/random.ts'
import { makeQueries, type Profile, words } from './generated.ts'
import { embedder, read, sets } from './labelled.ts'

export interface Corpus {
  vectors: number[][]
  queries: number[][]
}

const random = seededRandom(11)
const pick = <Item>(items: Item[]): Item => items[Math.floor(random() * items.length)]!
const several = <Item>(count: number, make: () => Item): Item[] => Array.from({ length: count }, make)

const embed = (texts: string[]): Promise<number[][]> => embedder.embed(texts, new AbortController().signal)

/** The queries are one to five words, each of some biography. */
const ofTexts = async (profiles: Profile[], queries: number): Promise<Corpus> => {
  const word = () => pick(pick(profiles).biography.split(' ')).replace(/[^\p{L}]/gu, '')
  const asked = Array.from({ length: queries }, (_, at) => several(1 + at % 5, word).join(' '))
  return {
    vectors: await embed(
      profiles.map(({ interests, city, country, biography }) =>
        `${interests.join(', ')}. ${city}, ${country}. ${biography}`
      ),
    ),
    queries: await embed(asked),
  }
}

/** Makes vectors for the profiles of generated.ts, and that many queries. */
export const corpora: Record<string, (profiles: Profile[], queries: number) => Promise<Corpus>> = {
  /** Forty words, the commonest of which nearly everybody has. */
  everyday: ofTexts,
  /** Forty words, each as likely as any other. */
  random: (profiles, queries) =>
    ofTexts(profiles.map((profile) => ({ ...profile, biography: several(40, () => pick(words)).join(' ') })), queries),
  /** Four sentences and the interests of people of the labelled sets. */
  sentences: (profiles, queries) => {
    const people: Profile[] = sets.flatMap((set) => read(set, 'profiles.json'))
    const sentences = people.flatMap(({ biography }) => biography?.match(/[^.!?]+[.!?]/g) ?? [])
    const biography = () => several(4, () => pick(sentences).trim()).join(' ')
    return ofTexts(
      profiles.map((profile) => ({ ...profile, interests: pick(people).interests, biography: biography() })),
      queries,
    )
  },
  /** As of a trained model: around topics. */
  clusters: (profiles, queries) =>
    Promise.resolve({
      vectors: profiles.map(({ embedding }) => embedding),
      queries: makeQueries(queries, profiles).map(({ vector }) => vector),
    }),
}
