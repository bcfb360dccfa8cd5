import { expect } from 'vitest'
import type { Answer } from './people.ts'

type Response = Pick<Answer, 'status' | 'body'>

/** Expects an error whose message contains this word or pattern. */
export const expectError = ({ status, body }: Response, expected: number, word = '\\w+'): void =>
  expect({ status, body }).toEqual({
    status: expected,
    body: { error: expect.stringMatching(new RegExp(`\\b${word}\\b`)) },
  })

export const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)
