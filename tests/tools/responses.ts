import { expect } from 'vitest'
import type { Answer } from './people.ts'

type Response = Pick<Answer, 'status' | 'body'>

/** ISO 8601 in UTC with milliseconds. */
export const isoTimestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

export const resultOf = ({ status, body }: Response) => ({ status, body })

/** The result of an error whose message contains this word or pattern. */
export const errorOf = (status: number, word = '\\w+') => ({
  status,
  body: { error: expect.stringMatching(new RegExp(`\\b${word}\\b`)) },
})

/** Expects an error whose message contains this word or pattern. */
export const expectError = (response: Response, status: number, word?: string): void =>
  expect(resultOf(response)).toEqual(errorOf(status, word))

/** The path and query of the next page of a list that was asked for at this path, from its Link header. */
export const nextPath = (path: string, { headers }: Pick<Answer, 'headers'>): string | undefined => {
  const link = headers.get('Link')
  if (link === null) return undefined
  // Relative, so that it leads to whatever address was asked.
  expect(link).toMatch(/^<\?[^>]+>; rel="next"$/)
  const { pathname, search } = new URL(link.slice(1, link.indexOf('>')), `http://localhost${path}`)
  return pathname + search
}

export const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)
