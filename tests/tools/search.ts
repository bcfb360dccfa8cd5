import { type Answer, call } from './people.ts'
import { pause } from './wait.ts'

/** An array repeats the parameter. */
type Parameters = Record<string, string | number | string[]>

/** A search without default filters. */
export const search = (parameters: Parameters = {}, token?: string): Promise<Answer> => {
  const pairs = Object.entries(parameters).flatMap(([name, given]) => [given].flat().map((value) => [name, `${value}`]))
  return call('GET', `/users/search?${new URLSearchParams(pairs)}`, undefined, { ...(token && { token }) })
}

let count = 0
/** A unique city, so that a test finds only its own users. */
export const uniqueCity = (name: string): string => `${name} ${process.pid} ${Date.now()} ${count++}`

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
