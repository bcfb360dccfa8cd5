import { type Answer, asAdmin, call, uniqueEmail } from './people.ts'
import { pause } from './wait.ts'

/** An array repeats the parameter. */
type Parameters = Record<string, string | number | string[]>
export type Searching = (parameters?: Parameters, token?: string) => Promise<Answer>

/** A search without default filters. */
export const search: Searching = (parameters = {}, token) => {
  const pairs = Object.entries(parameters).flatMap(([name, given]) => [given].flat().map((value) => [name, `${value}`]))
  return call('GET', `/users/search?${new URLSearchParams(pairs)}`, undefined, { ...(token && { token }) })
}

let count = 0
/** A unique city, so that a test finds only its own users. */
export const uniqueCity = (name: string): string => `${name} ${process.pid} ${Date.now()} ${count++}`

/** A search in one city. */
export const searchIn = (city: string): Searching => (parameters = {}, token) =>
  search({ filterCity: city, ...parameters }, token)

/** The names of the hits, best first. */
export const namesOf = ({ body }: Answer): string[] => body.hits.map(({ name }: { name: string }) => name)

/** The names of the hits that match by keywords and not by meaning alone, sorted. Needs explain=true. */
export const byWords = ({ body }: Answer): string[] =>
  body.hits
    .filter((hit: { _rankingScoreDetails: { words: unknown } }) => hit._rankingScoreDetails.words !== null)
    .map(({ name }: { name: string }) => name)
    .toSorted()

/**
 * Creates users without Auth accounts, as an import does, with these profile fields; returns their profile ids. A few
 * hundred at a time, because a statement may take eight seconds.
 */
export const makePeople = async (people: { name: string; [field: string]: unknown }[]): Promise<number[]> => {
  if (people.length > 300) return [...await makePeople(people.slice(0, 300)), ...await makePeople(people.slice(300))]
  const { body: users } = await asAdmin('POST', 'users', people.map(({ name }) => ({ name, email: uniqueEmail() })))
  // The Data API requires the same keys in every row.
  const defaults = {
    biography: null,
    city: null,
    country: null,
    first_name: null,
    last_name: null,
    is_searchable: true,
  }
  const rows = people.map(({ name: _, ...fields }, index) => ({ ...defaults, ...fields, user_id: users[index].id }))
  const { body: profiles } = await asAdmin('POST', 'profiles', rows)
  return profiles.map(({ id }: { id: number }) => id)
}

/** Repeats a request until the response is as expected or the time is up; returns the last response. */
export const until = async (
  ask: () => Promise<Answer>,
  isExpected: (answer: Answer) => boolean,
  seconds = 10,
): Promise<Answer> => {
  const end = Date.now() + seconds * 1000
  while (true) {
    const answer = await ask()
    if (isExpected(answer) || Date.now() > end) return answer
    await pause(200)
  }
}
