import { type Answer, asAdmin, call, freshEmail } from './people.ts'
import { pause } from './wait.ts'

/** One parameter, or the same one several times. */
type Parameters = Record<string, string | number | string[]>
export type Searching = (parameters?: Parameters, token?: string) => Promise<Answer>

/** A search of everybody. */
export const search: Searching = (parameters = {}, token) => {
  const pairs = Object.entries(parameters).flatMap(([name, given]) => [given].flat().map((value) => [name, `${value}`]))
  return call('GET', `/users/search?${new URLSearchParams(pairs)}`, undefined, { ...(token && { token }) })
}

let count = 0
/** A city nobody else has, so that a test finds its own people alone. */
export const madeUpCity = (name: string): string => `${name} ${process.pid} ${Date.now()} ${count++}`

/** A search that finds the people of one city alone. */
export const searchIn = (city: string): Searching => (parameters = {}, token) =>
  search({ filterCity: city, ...parameters }, token)

/** Whom an answer holds, best first. */
export const namesOf = ({ body }: Answer): string[] => body.hits.map(({ name }: { name: string }) => name)

/** Whom an explained answer holds by their words rather than by what they mean, in order of the alphabet. */
export const byWords = ({ body }: Answer): string[] =>
  body.hits
    .filter((hit: { _rankingScoreDetails: { words: unknown } }) => hit._rankingScoreDetails.words !== null)
    .map(({ name }: { name: string }) => name)
    .toSorted()

/**
 * People without accounts, as an import makes them, each with these fields of a profile; their profile ids. A few hundred at a time, because
 * a statement has eight seconds.
 */
export const makePeople = async (people: { name: string; [field: string]: unknown }[]): Promise<number[]> => {
  if (people.length > 300) return [...await makePeople(people.slice(0, 300)), ...await makePeople(people.slice(300))]
  const { body: users } = await asAdmin('POST', 'users', people.map(({ name }) => ({ name, email: freshEmail() })))
  // The Data API wants the same keys in every row.
  const silent = { biography: null, city: null, country: null, first_name: null, last_name: null, is_searchable: true }
  const rows = people.map(({ name: _, ...fields }, index) => ({ ...silent, ...fields, user_id: users[index].id }))
  const { body: profiles } = await asAdmin('POST', 'profiles', rows)
  return profiles.map(({ id }: { id: number }) => id)
}

/** Asks again and again until the answer is what is hoped for, and gives up after so many seconds; the last answer. */
export const until = async (
  ask: () => Promise<Answer>,
  hopedFor: (answer: Answer) => boolean,
  seconds = 10,
): Promise<Answer> => {
  const end = Date.now() + seconds * 1000
  while (true) {
    const answer = await ask()
    if (hopedFor(answer) || Date.now() > end) return answer
    await pause(200)
  }
}
