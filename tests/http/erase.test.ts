// What Auth shows of an erasure; tests/rules/privacy.rules.ts has the rest, tests/postgres/files.test.ts Storage.
import { expect, test } from 'vitest'
import { call, dataApi, signUp } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'

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
