/**
 * Generates profiles and queries for speed.ts, the same each time. As with a real model, their vectors cluster in
 * topics.
 */
import { offline } from '../../functions/_shared/embeddings/offline.ts'
import { readDataFile } from '../../functions/_shared/embeddings/wordnet/data_file.ts'
import { seededRandom } from '../../tests/tools/random.ts'

export const model = offline().model
const dimensions = 384
const topicCount = 24

export interface Profile {
  id: number
  name: string
  first_name: string
  last_name: string
  city: string
  country: string
  biography: string
  interests: string[]
  embedding: number[]
}

export interface Query {
  q: string
  vector: number[]
  filters: { interests: string[]; cities: string[]; countries: string[] }
}

const random = seededRandom(7)
const below = (count: number): number => Math.floor(random() * count)
const pick = <Item>(items: Item[]): Item => items[below(items.length)]!
const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
const shuffled = <Item>(items: Item[]): Item[] =>
  items.map((item) => ({ item, at: random() })).sort((a, b) => a.at - b.at).map(({ item }) => item)

/** Draws items by Zipf's law: the second half as often as the first, the third a third as often. */
const zipf = <Item>(items: Item[]): () => Item => {
  let sum = 0
  const upTo = items.map((_, rank) => sum += 1 / (rank + 1))
  return () => {
    const wanted = random() * sum
    let [low, high] = [0, items.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (upTo[middle]! < wanted) low = middle + 1
      else high = middle
    }
    return items[low]!
  }
}

const unit = (vector: number[]): number[] => {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}
const noise = (): number[] => unit(Array.from({ length: dimensions }, normal))
const sum = (parts: [number, number[]][]): number[] =>
  unit(
    Array.from({ length: dimensions }, (_, at) => parts.reduce((all, [weight, part]) => all + weight * part[at]!, 0)),
  )

const file = new URL('../../functions/_shared/embeddings/wordnet/wordnet.bin', import.meta.url)
const table = readDataFile(Deno.readFileSync(file)).words
export const words = shuffled(
  Array.from({ length: table.count }, (_, place) => table.wordAt(place)).filter((word) => /^[a-z]{3,12}$/.test(word)),
)
const syllables = [...'bdfgklmnprstvz'].flatMap((first) => [...'aeiou'].map((second) => first + second))
const inventNames = (count: number, minSyllables: number): string[] => [
  ...new Set(Array.from({ length: count }, () => {
    const word = Array.from({ length: minSyllables + below(2) }, () => pick(syllables)).join('')
    return word[0]!.toUpperCase() + word.slice(1)
  })),
]
const drawWord = zipf(words.slice(0, 8000))
const drawFirst = zipf(inventNames(800, 2))
const drawLast = zipf(inventNames(4000, 3))
const countries = inventNames(40, 3)
const cities = inventNames(300, 3).map((city, rank) => ({ city, country: countries[rank % countries.length]! }))
const drawCity = zipf(cities)
const topics = Array.from({ length: topicCount }, noise)

export const makeProfiles = (count: number, interests: string[]): Profile[] =>
  Array.from({ length: count }, (_, index) => {
    const [first_name, last_name, { city, country }] = [drawFirst(), drawLast(), drawCity()]
    const own = Array.from({ length: 1 + below(3) }, () => pick(topics))
    return {
      id: index + 1,
      name: `${first_name} ${last_name}`,
      first_name,
      last_name,
      city,
      country,
      biography: Array.from({ length: 40 }, drawWord).join(' '),
      interests: shuffled(interests).slice(0, 1 + below(6)).sort(),
      // Cosines of about .3 within a topic and 0 across topics, as with the offline model. Every tenth profile is above
      // the threshold.
      embedding: sum([...own.map((topic): [number, number[]] => [0.6 / Math.sqrt(own.length), topic]), [0.8, noise()]]),
    }
  })

const mistype = (word: string): string => {
  const at = 1 + below(word.length - 2)
  return random() < 0.5
    ? word.slice(0, at) + word.slice(at + 1)
    : word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
}

/** Queries of 1 to 3 words of some profile. Every fifth is unfinished, every fifth mistyped, every third filtered. */
export const makeQueries = (count: number, profiles: Profile[]): Query[] =>
  Array.from({ length: count }, (_, index) => {
    const profile = pick(profiles)
    const sources: (() => string)[] = [
      () => pick(profile.biography.split(' ')),
      () => pick(profile.biography.split(' ')),
      () => pick(profile.biography.split(' ')),
      () => pick(profile.interests).toLowerCase(),
      () => profile.city,
      () => profile.first_name,
      () => profile.last_name,
    ]
    const typed = Array.from({ length: 1 + index % 3 }, () => pick(sources)())
    const last = typed.length - 1
    if (index % 5 === 1 && typed[last]!.length > 4) typed[last] = typed[last]!.slice(0, -2)
    if (index % 5 === 3 && typed[last]!.length > 4) typed[last] = mistype(typed[last]!)
    const isFiltered = index % 3 === 0
    return {
      q: typed.join(' ') + (index % 5 === 1 || index % 2 === 0 ? '' : ' '),
      vector: sum([[0.7, pick(topics)], [0.7, noise()]]),
      filters: {
        interests: isFiltered && index % 2 === 0 ? [pick(profile.interests)] : [],
        cities: isFiltered && index % 9 === 3 ? [profile.city] : [],
        countries: isFiltered && index % 2 === 1 ? [profile.country] : [],
      },
    }
  })
