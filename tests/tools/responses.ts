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

export const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)
