import type { components } from '../clients/openapi.ts'
import { matchedTexts } from './highlight.ts'

/** One person found. */
export type Hit = components['schemas']['SearchHit']

/** What a search was about. */
export interface Sought {
  /** Whether it had words whose meaning was looked for. */
  hasMeaning: boolean
  /** As they are written: "Berlin", "Prague or Berlin"; empty without one. */
  place: string
  /** How many words were looked for. */
  words: number
}

/** Before anything has been found. */
export const nothingSought: Sought = { hasMeaning: false, place: '', words: 0 }

const withoutMarks = (text: string): string => [...text].map((letter) => letter.normalize('NFD')[0]).join('')

/** A place as the query has it, where the service says it in lower case and without diacritics. */
const spellingOf = (place: string, query: string): string => {
  const typed = query.normalize('NFC')
  const start = withoutMarks(typed).toLowerCase().indexOf(place)
  const spelling = start < 0 ? place : typed.slice(start, start + place.length)
  return /\p{Lu}/u.test(spelling)
    ? spelling
    : spelling.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toLocaleUpperCase())
}

export const soughtOf = ({ query, _understood }: components['schemas']['SearchResult']): Sought => ({
  hasMeaning: !!_understood?.text,
  place: (_understood?.places ?? []).map((place) => spellingOf(place, query)).join(' or '),
  words: _understood?.words.length ?? 0,
})

/** The query without the places that it names, and what leads to them: "a baker in Lisbon" is "a baker". */
export const withoutPlace = (query: string, { place }: Sought): string =>
  place.split(' or ').reduce((rest, name) => {
    const start = withoutMarks(rest).toLowerCase().indexOf(withoutMarks(name).toLowerCase())
    const before = rest.slice(0, start).replace(/(?<!\p{L})(in|near|around|from|of|or|at)\s+$/iu, '')
    return start < 0 ? rest : `${before}${rest.slice(start + name.length)}`.replace(/\s+/g, ' ').trim()
  }, query.normalize('NFC'))

/** Where a query names a place, the scores of the others are below this one. */
export const isElsewhere = ({ _rankingScore }: Hit, { place }: Sought): boolean => place !== '' && _rankingScore < 0.5

/** Whether somebody lives in the place of the query, and does not just have its name. */
export const livesThere = (hit: Hit, sought: Sought): boolean =>
  sought.place !== '' && !isElsewhere(hit, sought) && hit._rankingScoreDetails?.lives !== false

const writtenSmall = (interest: string): string => interest.charAt(0).toLocaleLowerCase() + interest.slice(1)

/**
 * The longest of the query's words that a biography has side by side, as it says most; empty where they are a word of
 * little weight, as "who", and all that the profile has of the query.
 */
const writtenOf = ({ biography, _matches, _rankingScoreDetails }: Hit, { words }: Sought): string => {
  if (Number(_rankingScoreDetails?.coverage ?? 1) * words < 0.6) return ''
  return matchedTexts(biography ?? '', _matches?.biography).sort((one, other) => other.length - one.length)[0] ?? ''
}

/** Why somebody was found, in words of people; empty where the card says it by itself. */
export const reasonOf = (hit: Hit, sought: Sought): string => {
  const { city, country, interests, _matches = {} } = hit
  const isHome = _matches.city || _matches.country || livesThere(hit, sought)
  const home = isHome && (_matches.country && !_matches.city ? country : city ?? country)
  const liked = [...new Set(_matches.interests?.map(({ index }) => interests[index!]!))].slice(0, 2)
  const written = writtenOf(hit, sought)
  const found = [
    home && `lives in ${home}`,
    liked.length > 0 && `likes ${liked.map(writtenSmall).join(' and ')}`,
    written && written !== home && `writes about “${written}”`,
  ].filter(Boolean)
  if (found.length === 0 && !_matches.name && sought.hasMeaning) found.push('close in meaning')
  if (isElsewhere(hit, sought)) found.push(`not in ${sought.place}`)
  return found.join(', ')
}
