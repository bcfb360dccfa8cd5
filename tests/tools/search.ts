import { type Answer, call } from './people.ts'

/** An array repeats the parameter. */
type Parameters = Record<string, string | number | string[]>

export const search = (parameters: Parameters = {}, token?: string): Promise<Answer> => {
  const pairs = Object.entries(parameters).flatMap(([name, given]) => [given].flat().map((value) => [name, `${value}`]))
  return call('GET', `/users/search?${new URLSearchParams(pairs)}`, undefined, { ...(token && { token }) })
}

let count = 0
/** A unique city, so that a test finds only its own users. */
export const uniqueCity = (name: string): string => `${name} ${process.pid} ${Date.now()} ${count++}`
