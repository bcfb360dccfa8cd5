/** Which of a place's untagged names somebody uses, and which names are also ordinary words. */
import { readSenses, readSynsets } from '../wordnet.ts'
import { languages, localLanguages, readFrequencies, readGivenNames, wordnetFolder } from './sources.ts'

const frequencies = new Map([...languages, ...localLanguages].map((language) => [language, readFrequencies(language)]))

/** Scripts whose names are kept for places anywhere, and the languages that write them. */
const scripts: [RegExp, string[]][] = [
  [/^[\p{Script=Greek}\p{M}' -]+$/u, ['el']],
  [/^[а-яё' -]+$/iu, ['ru']],
  [/^[а-щьюяєіїґ' -]+$/iu, ['uk']],
  [/^[ء-غف-ي' -]+$/u, ['ar']],
  [/^[א-ת' -]+$/u, ['he']],
  [/^[\p{Script=Katakana}ー]+$/u, ['ja']],
  [/^\p{Script=Han}+$/u, ['zh', 'ja']],
  [/^\p{Script=Hangul}+$/u, ['ko']],
  [/^[\p{Script=Thai}\p{M}]+$/u, ['th']],
]
/** Those whose names are kept for places of these countries. */
const local: [RegExp, string][] = [
  [/^\p{Script=Georgian}+$/u, 'GE'],
  [/^\p{Script=Armenian}+$/u, 'AM'],
  [/^[\p{Script=Arabic}\p{M} ]+$/u, 'IR PK AF'],
  [/^[\p{Script=Cyrillic} ]+$/u, 'RS MK BG BY KZ MN'],
]

const allGiven = new Set([...readGivenNames(5000), 'nico'])
const lower = (name: string): string => name.normalize('NFC').toLowerCase()
/** How often a name is written in a language; of several words, the rarest counts. */
const frequency = (name: string, language: string): number => {
  const words = lower(name).split(/[ '-]+/).filter((word) => word.length > 2 || !/^\p{Script=Latin}/u.test(word))
  return words.length === 0 ? 0 : Math.min(...words.map((word) => frequencies.get(language)!.get(word) ?? 0))
}
/** The one of these names that is written most in a language, and how often. */
const mostFrequent = (names: string[], language: string): [name: string, score: number] =>
  names.map((name): [string, number] => [name, frequency(name, language)])
    .reduce((one, other) => other[1] > one[1] ? other : one, ['', 0])

const noise = new RegExp(
  '\\b(city|town|of|the|commune|municip\\w*|lungsod|kota|estat|stad|stadt|sity|grad|gorod|osh|urbs|civitas|ville de|' +
    'province|region|state|district|capital)\\b|\\d|[(),/]',
  'i',
)
const isWritten = (name: string): boolean =>
  /^\p{Lu}/u.test(name) && /^[\p{Script=Latin}\p{M}’' .-]+$/u.test(name) && name.length > 3 && name.length < 30 &&
  !/^[\p{Lu}.]+$/u.test(name) && !noise.test(name)

/** "Coates Ferry" for Athens: of several words each is frequent, but not together. */
const isAlike = (name: string, main: string, isRegion: boolean): boolean =>
  isRegion || !name.includes(' ') || main.includes(' ') ||
  /^(the|el|la|le|il|los|las|al|den|o|a|saint|san|sankt) \S+$/i.test(name)

/** Of these names those that somebody who writes one of the languages uses, as the frequencies of its words say. */
export const namesInUse = (
  main: string,
  others: string[],
  spoken: string[],
  country: string,
  population: number,
  isRegion = false,
): string[] => {
  const found: string[] = []
  const isKnown = population >= 100_000
  const latin = [main, ...others.filter((name) => isWritten(name) && isAlike(name, main, isRegion))]
  const known = Math.max(...languages.map((language) => frequency(main, language)), 2)
  const official = localLanguages.concat(languages).filter((language) => spoken.includes(language))
  for (const language of new Set(['en', ...official, ...isKnown ? languages : []])) {
    if (/ru|uk|el|ar|he|ja|zh|ko|bg|sr|th/.test(language)) continue
    const [best, score] = mostFrequent(latin, language)
    // A word that is far more frequent than the place is another word.
    if (score > 0 && score < known + 1 && !allGiven.has(lower(best))) found.push(best)
  }
  for (const [script, written] of scripts) {
    const names = others.filter((name) => script.test(name) && name.length > 1)
    for (const language of isKnown ? written : written.filter((language) => spoken.includes(language))) {
      const [best, score] = mostFrequent(names, language)
      if (score > 0) found.push(best)
      else if ((population > 300_000 || spoken.includes(language)) && names.length > 0) {
        found.push([...names].sort((one, other) => one.length - other.length)[0]!)
      }
    }
  }
  const own = local.find(([, countries]) => countries.includes(country))
  const written = others.find((name) => own?.[0].test(name))
  return written ? [written, ...found] : found
}

/** English words, in lower case: those that are in the texts that WordNet counted. */
const counted = new Set(
  readSenses(wordnetFolder).filter(({ tagCount }) => tagCount > 0).map(({ lemma, key }) => `${key} ${lemma}`),
)
const words = new Set(
  readSynsets(wordnetFolder).flatMap(({ key, words }) =>
    words.filter((word) => /^[a-z]+$/.test(word) && counted.has(`${key} ${word}`))
  ),
)
const given = new Set([
  ...readGivenNames(300),
  ...('ali ahmed omar hassan fatima aisha layla amir yusuf mehmet ayse sofia victoria florence maria marta lucia ana ' +
    'ines luis carlos diego santiago andres lourdes carmen dolores mercedes chiara pavel irina svetlana olga ingrid ' +
    'lars sven astrid giulia lorenzo matteo austin charlotte jordan chad georgia carolina virginia chelsea catalina ' +
    'lorena nadia sana aurora alma').split(' '),
])
// Words that these texts lack, and names that mean something in the interests of people.
const others = new Set('split cork mobile polish kiwi java orange bath reading nice hub bury champagne'.split(' '))
// Of function words any place's name is one: como, sur.
const small = ['de', 'fr', 'es', 'it', 'pt', 'nl']

/** Whether a folded name is an English word or a given name, or so frequent a word of another language. */
export const isOrdinary = (name: string, population: number): boolean =>
  given.has(name) || /^[a-z]{1,2}$/.test(name) && name !== 'uk' ||
  (words.has(name) || others.has(name)) && !['turkey', 'china', 'morocco', 'asia'].includes(name) ||
  name.length < 6 && population < 500_000 && small.some((language) => (frequencies.get(language)!.get(name) ?? 0) > 4.9)
