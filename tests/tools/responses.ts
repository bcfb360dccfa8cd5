import { expect } from 'vitest'
import type { Answer } from './people.ts'

/** Expects an error whose message contains this word or pattern. */
export const expectError = ({ status, body }: Pick<Answer, 'status' | 'body'>, expected: number, word = '\\w+'): void =>
  expect([status, body]).toEqual([expected, { error: expect.stringMatching(new RegExp(`\\b${word}\\b`)) }])

export const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)
