import type { ChildProcess } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { call } from '../tools/people.ts'
import { startStack, stopStack } from '../tools/stack.ts'

const databaseUrl = process.env.TEST_DATABASE_URL

let base: string
let stack: ChildProcess
beforeAll(async () => {
  // No search is done in a millisecond.
  const started = await startStack({
    SEARCH_TIMEOUT: '1',
    SEED: databaseUrl ? 'none' : 'demo',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  })
  base = started.base
  stack = started.process
})
afterAll(() => stopStack(stack))

test('a search that takes too long ends with 503, and the process goes on to serve the next', async () => {
  for (const path of ['/users/search?q=hiking', '/users/search?q="live+music"+-yoga', '/users/search']) {
    const { status, body, headers } = await call('GET', base + path)
    expect({ status, body, retryAfter: headers.get('Retry-After') }, path).toEqual({
      status: 503,
      body: { error: 'The service is busy, please try again' },
      retryAfter: '1',
    })
    expect((await call('GET', `${base}/users/interests`)).status).toBe(200)
  }
  expect(stack.exitCode).toBeNull()
})
