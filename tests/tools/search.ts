import { type Answer, call } from './people.ts'
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

/** The names of the hits, best first. */
export const namesOf = ({ body }: Answer): string[] => body.hits.map(({ name }: { name: string }) => name)

/** The names of the hits that match by keywords and not by meaning alone, sorted. Needs explain=true. */
export const byWords = ({ body }: Answer): string[] =>
  body.hits
    .filter((hit: { _rankingScoreDetails: { words: unknown } }) => hit._rankingScoreDetails.words !== null)
    .map(({ name }: { name: string }) => name)
    .toSorted()

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
