import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import { expect, test } from 'vitest'
import { createApiClient, dataOf } from '../../clients/api_client.ts'
import type { Client } from '../../clients/types.ts'
import { refusal } from './simulated_service.ts'

type Sent = { line: string; authorization: string | null; body: string }

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

const json = (body: unknown, status = 200) => Response.json(body, { status })
const unlessNew = ({ authorization }: Sent) =>
  authorization === 'Bearer new' ? json([]) : refusal('unauthorized', 'The token has expired')

test('sends path, query, headers and body, with the token of whoever is signed in', async () => {
  const { api, sent, signIn } = openCalls(({ line }) =>
    line.startsWith('GET') ? json({ hits: [] }) : json({ id: 3 }, 201)
  )
  const params = { query: { q: 'a & b', limit: 5 } }
  expect((await api.GET('/users/search', { params })).data).toEqual({ hits: [] })
  signIn()
  const path = '/conversations/{id}/messages'
  const init = { params: { path: { id: 7 } }, body: { content: 'Hello' } }
  expect(await dataOf(api.POST(path, init))).toEqual({ id: 3 })
  expect(sent).toEqual([
    { line: 'GET /users/search?q=a%20%26%20b&limit=5', authorization: null, body: '' },
    { line: 'POST /conversations/7/messages', authorization: 'Bearer old', body: '{"content":"Hello"}' },
  ])
})

test('answers without a body, and in plain text', async () => {
  const text = new Response('up 1', { headers: { 'Content-Type': 'text/plain' } })
  const { api } = openCalls(({ line }) => line.startsWith('DELETE') ? new Response(null, { status: 204 }) : text)
  expect(await api.DELETE('/users/me')).toMatchObject({ data: undefined, response: { status: 204 } })
  expect((await api.GET('/health/metrics')).data).toBe('up 1')
})

const [soon, html] = [{ 'Retry-After': '7' }, { 'Content-Type': 'text/html' }] as const
// deno-fmt-ignore
test.each([
  ['the service', () => refusal('not_public', 'Hidden', soon), 403, 7, 'not_public'],
  ['the service, when busy,', () => refusal('rate_limited', 'Hidden', soon), 429, 7, 'rate_limited'],
  ['a gateway', () => json({ code: 'NOT_FOUND', message: 'No function' }, 404), 404, 0, null],
  ['a gateway whose errors look like the service\'s', () => json({ error: 'No function' }, 401), 401, 0, null],
  ['a proxy', () => new Response('<h1>Slowly</h1>', { status: 429, headers: soon }), 429, 7, null],
  ['a captive portal', () => new Response('<h1>Log in</h1>', { headers: html }), 502, 0, null],
  ['nobody', () => Promise.reject(new TypeError('fetch failed')) as never, 503, 0, null],
])('an error of %s is {error}, and dataOf throws it', async (_, respond, status, seconds, code) => {
  const { api, state, signIn } = openCalls(respond)
  signIn()
  const { data, error, response } = await api.GET('/conversations')
  const unanswered = { error: 'The service cannot be reached. Is this device online?', cause: expect.any(String) }
  const body = code ? { error: 'Hidden' } : unanswered
  expect([data, error, response.status]).toEqual([undefined, body, status])
  expect(Number(response.headers.get('Retry-After'))).toBe(seconds)
  // Only the service's own answers have a status there, and only they can be final.
  await expect(dataOf(api.GET('/conversations'))).rejects.toMatchObject({
    ...{ name: 'ServiceError', code: code ?? 'offline', body: code && body, retryAfter: 1000 * seconds },
    ...{ message: body.error, status: code ? status : 0, temporary: code !== 'not_public' },
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
  const error = { error: 'A bearer token is needed' }
  const { api, sent, state, signIn } = openCalls(() => refusal('unauthorized', error.error))
  expect((await api.GET('/conversations')).error).toEqual(error)
  expect([state.refreshes, sent.length]).toEqual([0, 1])
  signIn('1', 'new')
  expect((await api.GET('/conversations')).error).toEqual(error)
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
