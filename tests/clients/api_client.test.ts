import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import { expect, test } from 'vitest'
import { createApiClient, dataOf } from '../../clients/api_client.ts'
import type { ErrorCode } from '../../clients/errors.ts'
import type { Client } from '../../clients/types.ts'

interface Sent {
  line: string
  authorization: string | null
  body: string
}

/** Calls of a service that answers as `respond`, by Ana, who is user 1 and whose token is "old" or "new". */
const openCalls = (respond: (sent: Sent) => Response) => {
  const sent: Sent[] = []
  const state = { session: null as null | { access_token: string; user: { id: string } }, refreshes: 0 }
  const fetch = (url: string | URL | Request, init: RequestInit = {}) => {
    const line = `${init.method} ${`${url}`.replace('http://service/functions/v1', '')}`
    const authorization = new Headers(init.headers).get('Authorization')
    const request = { line, authorization, body: `${init.body ?? ''}` }
    sent.push(request)
    return Promise.resolve().then(() => respond(request))
  }
  const { functions } = createClient('http://service', 'sb_publishable_test', {
    global: { fetch },
    realtime: { transport: ws as never },
  })
  const auth = {
    getSession: () => Promise.resolve({ data: { session: state.session } }),
    refreshSession: () => {
      state.refreshes++
      if (state.session) state.session = { ...state.session, access_token: 'new' }
      return Promise.resolve({ error: null })
    },
  }
  const api = createApiClient({ auth, functions } as unknown as Client)
  const signIn = (id = '1', access_token = 'old') => state.session = { access_token, user: { id } }
  return { api, sent, state, signIn }
}

const json = (body: unknown, status = 200, headers = {}) => Response.json(body, { status, headers })
const errors = (error: string, status: number, code: ErrorCode, headers = {}) =>
  json({ error }, status, { 'X-Error-Code': code, ...headers })
const unlessNew = ({ authorization }: Sent) =>
  authorization === 'Bearer new' ? json([]) : errors('The token has expired', 401, 'unauthorized')

test('sends path, query, headers and body, with the token of whoever is signed in', async () => {
  const { api, sent, signIn } = openCalls(({ line }) =>
    line.startsWith('GET') ? json({ hits: [] }) : json({ id: 3 }, 201)
  )
  const params = { query: { q: 'a & b', limit: 5 } }
  expect((await api.GET('/users/search', { params })).data).toEqual({ hits: [] })
  signIn()
  const path = '/conversations/{id}/messages'
  const { data, response } = await api.POST(path, { params: { path: { id: 7 } }, body: { content: 'Hello' } })
  expect([data, response.status]).toEqual([{ id: 3 }, 201])
  expect(sent).toEqual([
    { line: 'GET /users/search?q=a%20%26%20b&limit=5', authorization: null, body: '' },
    { line: 'POST /conversations/7/messages', authorization: 'Bearer old', body: '{"content":"Hello"}' },
  ])
})

test('answers without a body, and in plain text', async () => {
  const { api } = openCalls(({ line }) =>
    line.startsWith('DELETE')
      ? new Response(null, { status: 204 })
      : new Response('up 1', { headers: { 'Content-Type': 'text/plain' } })
  )
  expect(await api.DELETE('/users/me')).toMatchObject({ data: undefined, response: { status: 204 } })
  expect((await api.GET('/health/metrics', { parseAs: 'text' })).data).toBe('up 1')
})

test('an error of the service is {error}, with its headers', async () => {
  const { api } = openCalls(() => errors('Too many requests', 429, 'rate_limited', { 'Retry-After': '7' }))
  const { data, error, response } = await api.GET('/conversations')
  expect([data, error, response.headers.get('Retry-After')]).toEqual([undefined, { error: 'Too many requests' }, '7'])
})

test.each([
  ['a gateway', () => json({ code: 'NOT_FOUND', message: 'No function' }, 404), 404],
  ['a proxy', () => new Response('<h1>Bad Gateway</h1>', { status: 502 }), 502],
  ['a captive portal', () => new Response('<h1>Log in</h1>', { headers: { 'Content-Type': 'text/html' } }), 502],
  ['nobody', () => Promise.reject(new TypeError('fetch failed')) as never, 503],
])('so is the answer of %s', async (_, respond, status) => {
  const { api } = openCalls(respond)
  const { data, error, response } = await api.GET('/conversations')
  expect([data, error, response.status]).toEqual([undefined, { error: expect.any(String) }, status])
})

test('dataOf brings the data, or throws what is wrong', async () => {
  const { api } = openCalls(({ line }) =>
    line.endsWith('/1') ? json({ id: 1 }) : errors('This profile is hidden', 403, 'not_public', { 'Retry-After': '7' })
  )
  const profile = (id: number) => dataOf(api.GET('/users/{id}', { params: { path: { id } } }))
  expect(await profile(1)).toEqual({ id: 1 })
  await expect(profile(2)).rejects.toMatchObject({
    ...{ name: 'ServiceError', message: 'This profile is hidden', status: 403, code: 'not_public', retryAfter: 7000 },
    ...{ body: { error: 'This profile is hidden' }, temporary: false },
  })
})

test.each([
  ['a gateway', () => json({ error: 'No function' }, 401)],
  ['a proxy', () => new Response('<h1>Too many</h1>', { status: 429, headers: { 'Retry-After': '7' } })],
  ['nobody', () => Promise.reject(new TypeError('fetch failed')) as never],
])('with dataOf an answer of %s is temporary and has no status', async (_, respond) => {
  const { api, state, signIn } = openCalls(respond)
  signIn()
  await expect(dataOf(api.GET('/conversations'))).rejects.toMatchObject({
    ...{ status: 0, code: null, body: null, temporary: true },
  })
  expect(state.refreshes).toBe(0)
})

test('an aborted call rejects', async () => {
  const { api } = openCalls(() => json([]))
  await expect(api.GET('/conversations', { signal: AbortSignal.abort() })).rejects.toThrow('aborted')
})

test('calls whose token is rejected refresh it once and are sent again', async () => {
  const { api, sent, state, signIn } = openCalls(unlessNew)
  signIn()
  const results = await Promise.all([1, 2, 3].map(() => api.GET('/conversations')))
  expect(results.map(({ data }) => data)).toEqual([[], [], []])
  expect([state.refreshes, sent.length]).toEqual([1, 6])
})

test('a call is not sent again without a new token', async () => {
  const { api, sent, state } = openCalls(() => errors('A bearer token is needed', 401, 'unauthorized'))
  expect((await api.GET('/conversations')).error).toEqual({ error: 'A bearer token is needed' })
  expect([state.refreshes, sent.length]).toEqual([0, 1])
  state.session = { access_token: 'new', user: { id: '1' } }
  expect((await api.GET('/conversations')).error).toEqual({ error: 'A bearer token is needed' })
  expect([state.refreshes, sent.length]).toEqual([1, 2])
})

test('a call of one user is not sent again as another, who has signed in meanwhile', async () => {
  const { api, sent, signIn } = openCalls((request) => {
    signIn('2', 'new')
    return unlessNew(request)
  })
  signIn()
  expect((await api.DELETE('/users/me')).response.status).toBe(401)
  expect(sent.map(({ authorization }) => authorization)).toEqual(['Bearer old'])
})
