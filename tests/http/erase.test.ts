// What Auth shows of an erasure; tests/rules/privacy.rules.ts has the rest, tests/postgres/files.test.ts Storage.
import { expect, inject, test } from 'vitest'
import { call, dataApi, signUp, uniqueEmail } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'
import { runScript } from '../tools/run_script.ts'

const { origin, publishableKey } = inject('stack')

test('erasing ends sessions, log-in and the Data API, and the address signs up again as a new account', async () => {
  const ana = await signUp('Ana')
  const { email, password } = ana
  const { body: session } = await call('POST', '/auth/login', { email, password })
  expect((await dataApi(ana.token, 'GET', 'users')).body).toMatchObject([{ id: ana.id }])
  expect((await ana.call('DELETE', '/users/me')).status).toBe(204)
  for (const token of [ana.token, session.access_token]) {
    expectError(await call('GET', '/users/me', undefined, { token }), 401, 'no longer exists')
  }
  expectError(await call('POST', '/auth/refresh', { refresh_token: session.refresh_token }), 401, 'not valid')
  expectError(await call('POST', '/auth/login', { email, password }), 401, 'Wrong')
  for (const table of ['users', 'profiles', 'conversations', 'messages']) {
    expect((await dataApi(ana.token, 'GET', table)).body ?? []).not.toContainEqual(expect.anything())
  }
  const again = await call('POST', '/auth/signup', { email, password: 'another horse', name: 'New' })
  expect(again).toMatchObject({ status: 201, body: { user: { name: 'New' } } })
  expect(again.body.user.id).not.toBe(ana.id)
  expect((await call('GET', '/conversations', undefined, { token: again.body.access_token })).body).toEqual([])
  expectError(await call('GET', '/users/me', undefined, { token: ana.token }), 401, 'no longer exists')
})

test('what an erased user has told Auth is in no column of any table', async () => {
  const mark = `${process.pid}x${Date.now()}`
  const canary = (word: string) => `${word}${mark}`
  const scan = (words: string[]): Promise<{ table: string; word: string }[]> =>
    runScript('tests/tools/scan.ts', words, { DATABASE_URL: process.env.TEST_DATABASE_URL! })
  const auth = async (method: string, path: string, body: object, token?: string) => {
    const answer = await call(method, `${origin}/auth/v1/${path}`, body, {
      ...(token && { token }),
      headers: { apikey: publishableKey, 'User-Agent': canary('browser') },
    })
    expect({ path, ok: answer.status < 300 }).toEqual({ path, ok: true })
    return answer.body
  }
  // Directly, as supabase-js does, which accepts more fields than POST /auth/signup.
  const account = { email: uniqueEmail().replace('@', `${canary('first')}@`), password: canary('password') }
  const data = { name: canary('name'), nickname: canary('nickname'), profile: { bio: canary('bio') } }
  const { access_token: token } = await auth('POST', 'signup', { ...account, data })
  await auth('PUT', 'user', { data: { motto: canary('motto') } }, token)
  await auth('POST', 'recover', { email: account.email })
  await auth('PUT', 'user', { email: `${canary('second')}@example.com` }, token)
  const words = ['first', 'second', 'name', 'nickname', 'bio', 'motto'].map(canary)
  // These are never stored. Finding the others proves that the scan works, and where.
  const before = await scan([...words, ...['password', 'browser'].map(canary)])
  expect(new Set(before.map(({ word }) => word))).toEqual(new Set(words))
  const tables = ['public.users', 'auth.users', 'auth.identities', 'auth.audit_log_entries']
  expect(new Set(before.map(({ table }) => table))).toEqual(new Set(tables))
  expect((await call('DELETE', '/users/me', undefined, { token })).status).toBe(204)
  expect(await scan(words)).toEqual([])
})
