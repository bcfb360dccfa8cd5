import { expect, onTestFinished, test } from 'vitest'
import { openPool } from '../../functions/_shared/postgres.ts'
import { openFakePostgres } from './fake_postgres.ts'

/** Asks a server that sends this in answer to the request for TLS, or closes the connection if it is null. */
const ask = async (tls: string | null, query: string, connectionTimeoutMillis = 20_000) => {
  const server = await openFakePostgres(tls)
  onTestFinished(server.close)
  const limits = { max: 1, connectionTimeoutMillis, query_timeout: 20_000, idleTimeoutMillis: 100 }
  const answer = openPool(server.url + query, limits)('select $1::text as body', ['Ana row 0'])
  return { ...server, answer: await answer.then(([row]) => row!.body, ({ message }) => message) }
}
const silence = ''

test.each([
  ['a server without TLS is refused', 'N', '?sslmode=require', 'The server does not support SSL connections'],
  ['so is unencrypted data behind the answer', 'Sx', '?sslmode=require', 'There was an error establishing an SSL'],
  ['so is a closed connection', null, '?sslmode=require', 'Connection terminated unexpectedly'],
  ['a server without TLS is used with prefer', 'N', '?sslmode=prefer', 'Ana'],
  ['which is what is used without a mode', 'N', '', 'Ana'],
])('%s', async (_, tls, query, expected) => {
  const { answer, begun } = await ask(tls, query)
  expect(answer).toContain(expected)
  expect(begun).toEqual(expected === 'Ana' ? ['SSLRequest', 'startup'] : ['SSLRequest'])
})

test.each(['prefer', 'require'])('a silent server leaves no connection behind with sslmode %s', async (mode) => {
  const { answer, open } = await ask(silence, `?sslmode=${mode}`, 200)
  expect(answer).toMatch(/timeout|busy/)
  await expect.poll(open, { timeout: 10_000 }).toBe(0)
})

test('an unknown sslmode is refused by name', async () => {
  await expect(ask(silence, '?sslmode=on')).rejects.toThrow(/^sslmode is "on", and must be one of/)
})
