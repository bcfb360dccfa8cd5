import { expect, test } from 'vitest'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { call } from '../tools/people.ts'

// No search finishes within a millisecond.
const stack = useStack({ SEARCH_TIMEOUT: '1', ...(databaseUrl ? { DATABASE_URL: databaseUrl } : { SEED: 'demo' }) })

test('a search that times out returns 503, and the process serves the next request', async () => {
  for (const path of ['/users/search?q=hiking', '/users/search?q="live+music"+-yoga', '/users/search']) {
    const { status, body, headers } = await call('GET', stack.base + path)
    expect({ status, body, retryAfter: headers.get('Retry-After') }, path).toEqual({
      status: 503,
      body: { error: 'The service is busy, please try again' },
      retryAfter: '1',
    })
    expect((await call('GET', `${stack.base}/users/interests`)).status).toBe(200)
  }
  expect(stack.process.exitCode).toBeNull()
})
