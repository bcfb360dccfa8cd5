import { once } from 'node:events'
import { spawn } from 'node:child_process'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { testKeys } from '../tools/stack.ts'

const lines: string[] = []
const process_ = spawn('node_modules/.bin/deno', ['run', '-A', 'supabase/local/main.ts'], {
  env: {
    ...process.env,
    PORT: '0',
    DATA_DIR: 'memory',
    SEED: 'none',
    ACCESS_LOG: 'all',
    JWT_SECRET: testKeys.jwtSecret,
    SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey,
  },
  stdio: ['ignore', 'pipe', 'pipe'],
})
let base = ''
beforeAll(async () => {
  for (const stream of [process_.stdout, process_.stderr]) {
    let rest = ''
    stream.on('data', (chunk) => {
      const parts = `${rest}${chunk}`.split('\n')
      rest = parts.pop()!
      lines.push(...parts)
    })
  }
  base = await vi.waitUntil(() => lines.find((line) => line.startsWith('ready '))?.slice(6), { timeout: 55_000 })
})
afterAll(async () => {
  process_.kill('SIGTERM')
  await once(process_, 'exit')
})

const callFunction = (path: string, id: string, init: RequestInit = {}) =>
  fetch(`${base}${path}`, { ...init, headers: { 'X-Request-Id': id, ...init.headers } })
const lineOf = (id: string) =>
  vi.waitUntil(() =>
    lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).find(({ request }) => request === id)
  )

test('each response is logged as one line of JSON with request id, route, status and time', async () => {
  await callFunction('/users/4711', 'request-1')
  expect(await lineOf('request-1')).toEqual({
    level: 'info',
    message: 'Request completed',
    request: 'request-1',
    method: 'GET',
    route: '/users/:id',
    status: 404,
    ms: expect.any(Number),
  })
  expect(lines.filter((line) => line.includes('"request-1"'))).toHaveLength(1)
})

test('the log contains no names, texts, e-mail addresses, passwords or tokens', async () => {
  const json = { 'Content-Type': 'application/json' }
  const signUp = await callFunction('/auth/signup', 'signup', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({
      email: 'private.ana@example.com',
      password: 'private horse',
      name: 'Private Ana',
      biography: 'private life',
      is_searchable: true,
    }),
  })
  expect(signUp.status).toBe(201)
  const { access_token, refresh_token } = await signUp.json()
  const token = { Authorization: `Bearer ${access_token}` }
  await callFunction('/users/search?q=private+question', 'search', { headers: token })
  await callFunction('/users/private-path', 'path', { headers: token })
  await callFunction('/users/profile', 'patch', {
    method: 'PATCH',
    headers: { ...json, ...token },
    body: '{"city": private',
  })
  await callFunction('/auth/login', 'login', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email: 'private.ana@example.com', password: 'private mistake' }),
  })
  for (const id of ['signup', 'search', 'path', 'patch', 'login']) await lineOf(id)
  // The lines before are the banner, which has the project's keys.
  const log = lines.slice(lines.findIndex((line) => line.startsWith('ready ')) + 1).join('\n')
  expect(log).not.toMatch(/private/i)
  for (const secret of [access_token, refresh_token]) expect(log).not.toContain(secret)
})

test('errors of Auth and the Data API print none of them either', async () => {
  const { origin } = new URL(base)
  const key = { 'Content-Type': 'application/json', apikey: testKeys.publishableKey }
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(origin + path, {
      method,
      headers: { ...key, ...headers },
      body: body === undefined ? null : JSON.stringify(body),
    })
  const account = { email: 'private.ben@example.com', password: 'private horse' }
  const before = lines.length
  for (const name of ['private \0 Ben', ' ']) {
    const { status } = await send('POST', '/auth/v1/signup', { ...account, data: { name, private: 'private' } })
    expect(status).toBe(400)
  }
  const made = await send('POST', '/auth/v1/signup', { ...account, data: { name: 'Private Ben' } })
  expect(made.status).toBe(200)
  const { access_token } = await made.json()
  const token = { Authorization: `Bearer ${access_token}` }
  const statuses = [
    await send('POST', '/auth/v1/token?grant_type=password', { email: { private: 1 }, password: 5 }),
    await send('PUT', '/auth/v1/user', { data: { private: 'private \0' } }, token),
    await send('PATCH', '/rest/v1/users?id=gt.0', { name: 'private '.repeat(100) }, token),
    await send('PATCH', '/rest/v1/profiles?id=gt.0', { age: 'private' }, token),
    await send('PATCH', '/rest/v1/users?id=eq.private', { name: 'private' }, token),
    await send('POST', '/rest/v1/users', { name: 'private', email: 'private' }, token),
    await send('GET', '/rest/v1/users?private=eq.private&order=private', undefined, token),
    await send('GET', '/rest/v1/messages?content=fts.private(&select=id', undefined, token),
    await send('POST', '/rest/v1/rpc/private', { private: 1 }, token),
  ].map(({ status }) => status)
  for (const status of statuses) expect(status).toBeGreaterThanOrEqual(400)
  await callFunction('/health', 'afterwards')
  await lineOf('afterwards')
  const printed = lines.slice(before).join('\n')
  expect(printed).not.toMatch(/private|\$2[aby]\$|insert into|params/i)
  expect(printed).not.toContain(access_token)
})
