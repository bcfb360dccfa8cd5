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
    ACCESS_LOG: 'on',
    JWT_SECRET: testKeys.jwtSecret,
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

const ask = (path: string, id: string, init: RequestInit = {}) =>
  fetch(`${base}${path}`, { ...init, headers: { 'X-Request-Id': id, ...init.headers } })
const lineOf = (id: string) =>
  vi.waitUntil(() =>
    lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).find(({ request }) => request === id)
  )

test('each answer leaves one line of JSON with its request id, pattern, status and time', async () => {
  await ask('/users/4711', 'somebody')
  expect(await lineOf('somebody')).toEqual({
    level: 'info',
    message: 'answered',
    request: 'somebody',
    method: 'GET',
    route: '/users/:id',
    status: 404,
    ms: expect.any(Number),
  })
  expect(lines.filter((line) => line.includes('"somebody"'))).toHaveLength(1)
})

test('nothing that people wrote, sent or are called is in the log', async () => {
  const json = { 'Content-Type': 'application/json' }
  const signUp = await ask('/auth/signup', 'signup', {
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
  await ask('/users/search?q=private+question', 'search', { headers: token })
  await ask('/users/private-path', 'path', { headers: token })
  await ask('/users/profile', 'patch', { method: 'PATCH', headers: { ...json, ...token }, body: '{"city": private' })
  await ask('/auth/login', 'login', {
    method: 'POST',
    headers: json,
    body: JSON.stringify({ email: 'private.ana@example.com', password: 'private mistake' }),
  })
  for (const id of ['signup', 'search', 'path', 'patch', 'login']) await lineOf(id)
  // What comes before is the banner with the project's keys, which are for whoever started it.
  const log = lines.slice(lines.findIndex((line) => line.startsWith('ready ')) + 1).join('\n')
  expect(log).not.toMatch(/private/i)
  for (const secret of [access_token, refresh_token]) expect(log).not.toContain(secret)
})
