import { expect, inject, test } from 'vitest'
import { call, uniqueEmail } from '../../tools/people.ts'

const { origin, publishableKey } = inject('stack')
const send = (path: string, body: object) =>
  call('POST', `${origin}/auth/v1/${path}`, body, { headers: { apikey: publishableKey } })
const signUpAs = (fields: object) => send('signup', { email: uniqueEmail(), password: 'correct horse', ...fields })

test.each([
  [{ data: { name: '   ' } }, /^name /],
  [{ data: { name: 'Ana\0' } }, /^A value is not of its type$/],
  ...['email', 'password'].flatMap((field) =>
    [5, true, {}, ['a']].map((value): [object, RegExp] => [{ [field]: value }, RegExp(`^${field} must be text$`)])
  ),
])('Auth refuses a sign-up with %j as a validation error', async (fields, message) => {
  const { status, body, headers } = await signUpAs(fields)
  const msg = expect.stringMatching(message)
  expect({ status, body }).toEqual({ status: 400, body: { code: 400, error_code: 'validation_failed', msg } })
  expect(headers.get('X-Sb-Error-Code')).toBe('validation_failed')
})

test.each([
  ['password', { email: {}, password: 5 }, 'validation_failed'],
  ['refresh_token', { refresh_token: [] }, 'validation_failed'],
])('Auth refuses a %s that is not text', async (grant, body, error_code) => {
  expect(await send(`token?grant_type=${grant}`, body)).toMatchObject({ status: 400, body: { error_code } })
})
