import { expect, test } from 'vitest'
import { call } from '../tools/people.ts'

test('health reports the service and its database as up', async () => {
  const { status, body } = await call('GET', '/health')
  expect(status).toBe(200)
  expect(body).toEqual({
    status: 'ok',
    database: 'ok',
    embeddings: {
      provider: process.env.FUNCTIONS_DENO ? 'openai' : 'offline',
      model: 'offline-wordnet-v3',
      pending: expect.any(Number),
    },
  })
})
