import { describe, expect, inject, test } from 'vitest'
import { call, uniqueEmail } from '../../tools/people.ts'

const { origin, publishableKey } = inject('stack')

describe('Auth', () => {
  const signUpAs = (body: Record<string, unknown>) =>
    call('POST', `${origin}/auth/v1/signup`, { email: uniqueEmail(), password: 'correct horse', ...body }, {
      headers: { apikey: publishableKey },
    })

  test.each([
    [{ name: '   ' }, expect.stringMatching(/^name /)],
    [{ name: 'Ana\0' }, 'A value is not of its type'],
  ])('refuses the metadata %j as a validation error', async (data, msg) => {
    const { status, body, headers } = await signUpAs({ data })
    expect({ status, body }).toEqual({ status: 400, body: { code: 400, error_code: 'validation_failed', msg } })
    expect(headers.get('X-Sb-Error-Code')).toBe('validation_failed')
  })

  test('takes a name from the metadata but no profile, which would be in every token', async () => {
    const { body: { access_token } } = await signUpAs({ data: { name: 'Ana', profile: { bio: 'Potter', age: 31 } } })
    const { body } = await call('GET', '/users/me', undefined, { token: access_token })
    expect(body).toMatchObject({ name: 'Ana', bio: null, Profile: { age: null } })
  })

  test.each(['email', 'password'])('refuses an %s that is not a string', async (field) => {
    for (const value of [5, true, {}, ['a']]) {
      const { status, body } = await signUpAs({ [field]: value })
      expect({ status, body }).toEqual({
        status: 400,
        body: { code: 400, error_code: 'validation_failed', msg: `${field} must be text` },
      })
    }
    for (const [grant, body] of [['password', { email: {}, password: 5 }], ['refresh_token', { refresh_token: [] }]]) {
      const { status } = await call('POST', `${origin}/auth/v1/token?grant_type=${grant}`, body, {
        headers: { apikey: publishableKey },
      })
      expect(status).toBe(400)
    }
  })
})
