import { createClient } from '@supabase/supabase-js'
import { request } from 'node:http'
import { expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'
import { call, freshEmail, signUp } from '../tools/people.ts'

const { origin, publishableKey } = inject('stack')

/** A request whose Host and Origin are its own choice, which fetch does not allow. */
const ask = (path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
  new Promise((resolve, reject) => {
    const { port } = new URL(origin)
    request({ host: '127.0.0.1', port, path, method, headers }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    }).on('error', reject).end()
  })

const foreign: [string, Record<string, string>][] = [
  ['under another host name', { Host: 'rebound.example' }],
  ['from a page of another origin', { Origin: 'https://elsewhere.example' }],
  ['through a proxy', { 'X-Forwarded-For': '203.0.113.9' }],
  ['from a page of another site that hides its origin', { 'Sec-Fetch-Site': 'cross-site' }],
]

test.each(['/_system/info', '/_system/config', '/_system/introspect'])('the dashboard reads %s', async (path) => {
  expect(await ask(path, {})).toBe(200)
})

test.each(foreign)('nobody reads what the stack says of itself %s', async (_, headers) => {
  expect(await ask('/_system/info', headers)).toBe(404)
})

test.each(foreign)('nobody is an admin without a key %s', async (_, headers) => {
  expect(await ask('/rest/v1/users', headers)).toBe(401)
})

test('the dashboard never reads the password of the database', async () => {
  const { text } = await call('GET', `${origin}/_system/info`)
  expect(text).not.toMatch(/postgres(ql)?:\/\//)
})

test.each([
  'biography=match.a',
  'biography=not.imatch.a',
  'or=(biography.match.a,city.eq.x)',
  'biography=match(any).{a,b}',
])(
  'nobody sends the database a pattern to chew on: %s',
  async (query) => {
    const ana = await signUp('Ana')
    const { status } = await ana.call('GET', `${origin}/rest/v1/profiles?${query}`, undefined, {
      headers: { apikey: publishableKey },
    })
    expect(status).toBe(400)
  },
)

test('nobody fills the memory through Auth or the Data API', async () => {
  const body = { email: freshEmail(), password: 'correct horse', data: { name: 'x'.repeat(1_100_000) } }
  const { status } = await call('POST', `${origin}/auth/v1/signup`, body, { headers: { apikey: publishableKey } })
  expect(status).toBe(413)
})

test('a TRACE is no method here', async () => {
  expect(await ask('/functions/v1/health', {}, 'TRACE')).toBe(405)
})

test('twenty who sign up with one address at once are one account and nineteen refusals', async () => {
  const email = freshEmail()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call('POST', '/auth/signup', { email, password: 'correct horse', name: 'Ana' })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
})

test('who logs out twice is logged out', async () => {
  const ana = await signUp('Ana')
  expect((await ana.call('POST', '/auth/logout')).status).toBe(204)
  expect((await ana.call('POST', '/auth/logout')).status).toBe(204)
})

test.each(['\u0085', '\u001c', '\u00a0', '\u2003'])('nobody is called by white space alone: %j', async (name) => {
  const body = { email: freshEmail(), password: 'correct horse', name }
  expect((await call('POST', '/auth/signup', body)).status).toBe(400)
})

test('who asks for Storage, which does not run here, is told so', async () => {
  const { data, error } = await createClient(origin, publishableKey, { realtime: { transport: WebSocket as never } })
    .storage.from('attachments').createSignedUrl('1/map.png', 60)
  expect(data).toBe(null)
  expect(error?.message).toMatch(/^Storage does not run on this machine/)
  const { status, body } = await call('POST', `${origin}/storage/v1/object/attachments/1/map.png`, {}, {
    headers: { apikey: publishableKey },
  })
  expect(status).toBe(501)
  expect(body).toEqual({ statusCode: '501', error: 'Not Implemented', message: error?.message })
})

test('nor does the Data API show what Storage keeps in the database', async () => {
  for (const table of ['objects', 'buckets']) {
    const { status } = await call('GET', `${origin}/rest/v1/${table}`, undefined, {
      headers: { apikey: publishableKey },
    })
    expect(status).toBe(404)
  }
})
