import { generateKeyPairSync } from 'node:crypto'
import { type JWTHeaderParameters, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { claimsOf, encode, signToken } from '../tools/jwt.ts'
import { type Answer, call, type Person, signUp } from '../tools/people.ts'

const { origin, jwtSecret } = inject('stack')
const secret = new TextEncoder().encode(jwtSecret)
const soon = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

let ana: Person
let claims: JWTPayload
let publishedKeys: string

beforeAll(async () => {
  ana = await signUp('Ana')
  claims = claimsOf(ana.token)
  publishedKeys = await (await fetch(`${origin}/auth/v1/.well-known/jwks.json`)).text()
})

const sign = (
  changed: JWTPayload = {},
  header: JWTHeaderParameters = { alg: 'HS256' },
  key: Parameters<SignJWT['sign']>[0] = secret,
) => new SignJWT({ ...claims, ...changed }).setProtectedHeader(header).sign(key)

const other = (): Uint8Array => new TextEncoder().encode('another-secret-of-at-least-32-characters')
const tampered = (part: number, value: (old: string) => string): string =>
  ana.token.split('.').map((old, index) => index === part ? value(old) : old).join('.')
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const protectedRoutes = [
  ['GET', '/users/me', undefined],
  ['PATCH', '/users/profile', { name: 'Intruder' }],
  ['GET', '/conversations', undefined],
] as const

const onEveryRoute = (headers: Record<string, string>): Promise<Answer[]> =>
  Promise.all(protectedRoutes.map(([method, path, body]) => call(method, path, body, { headers })))

const expectRefused = async (authorization: string) => {
  const { body: before } = await ana.call('GET', '/users/me')
  for (const { status, headers, body } of await onEveryRoute({ Authorization: authorization })) {
    expect({ status, body }).toEqual({ status: 401, body: { error: expect.any(String) } })
    expect(headers.get('WWW-Authenticate')).toMatch(/^Bearer\b.*error="invalid_token"/)
    expect(headers.get('Cache-Control')).toContain('no-store')
  }
  expect((await ana.call('GET', '/users/me')).body).toEqual(before)
}

describe('a token is accepted', () => {
  test.each([
    ['from Auth', () => ana.token],
    ['signed with the shared secret', () => sign()],
    ['that expires in a minute', () => sign({ exp: soon(60) })],
    ['with nbf a minute ago', () => sign({ nbf: soon(-60) })],
    ['with this and another audience', () => sign({ aud: ['elsewhere', 'authenticated'] })],
    ['with our issuer', () => sign({ iss: `${origin}/auth/v1` })],
  ])('%s', async (_, make) => {
    const { status, body } = await call('GET', '/users/me', undefined, { token: await make() })
    expect({ status, id: body.id }).toEqual({ status: 200, id: ana.id })
  })

  test('whatever the case of "Bearer"', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
      const { status } = await call('GET', '/users/me', undefined, {
        headers: { Authorization: `${scheme} ${ana.token}` },
      })
      expect(status).toBe(200)
    }
  })

  test('until it expires, even if it was verified before', async () => {
    const token = await sign({ exp: soon(2) })
    expect((await call('GET', '/users/me', undefined, { token })).status).toBe(200)
    await expect.poll(async () => (await call('GET', '/users/me', undefined, { token })).status, {
      timeout: 5000,
      interval: 250,
    }).toBe(401)
  })
})

describe('a token is refused', () => {
  test.each([
    ['without a signature, alg none', () => new UnsecuredJWT(claims).encode()],
    ['without a signature, alg None', () => `${encode({ alg: 'None' })}.${encode(claims)}.`],
    ['with alg none and a signature', () => signToken({ alg: 'none', typ: 'JWT' }, claims, jwtSecret)],
    ['without its signature', () => tampered(2, () => '')],
    ['with another signature', () => tampered(2, (old) => old.split('').reverse().join(''))],
    ['with another payload', () => tampered(1, () => encode({ ...claims, exp: soon(99_999) }))],
    ['signed with another secret', () => sign({}, { alg: 'HS256' }, other())],
    ['signed with an empty secret', () => signToken({ alg: 'HS256' }, claims, '')],
    ['signed with the shared secret by HS512', () => sign({}, { alg: 'HS512' })],
    [
      'signed with the public JWKS as a secret',
      () => sign({}, { alg: 'HS256' }, new TextEncoder().encode(publishedKeys)),
    ],
    ['signed with an unknown key', () => sign({}, { alg: 'ES256' }, privateKey)],
    [
      'with a symmetric jwk header',
      () => signToken({ alg: 'HS256', jwk: { kty: 'oct', k: 'AAAA' } }, claims, '\0\0\0'),
    ],
    ['with a path as kid', () => sign({}, { alg: 'HS256', kid: '../../../../dev/null' }, other())],
    ['with SQL as kid', () => sign({}, { alg: 'HS256', kid: "1' union select 'a" }, other())],
    ['with an unknown critical header', () => signToken({ alg: 'HS256', crit: ['x'], x: 1 }, claims, jwtSecret)],
    ['that expired a minute ago', () => sign({ exp: soon(-60) })],
    ['without exp', () => sign({ exp: undefined })],
    ['with exp that is not a number', () => signToken({ alg: 'HS256' }, { ...claims, exp: 'never' }, jwtSecret)],
    ['that is not valid yet', () => sign({ nbf: soon(60) })],
    ['for another audience', () => sign({ aud: 'elsewhere' })],
    ['without an audience', () => sign({ aud: undefined })],
    ['of another issuer', () => sign({ iss: 'https://example.com/auth/v1' })],
    ['whose issuer only begins like ours', () => sign({ iss: `${origin}/auth/v1/` })],
    ['of the service role', () => sign({ role: 'service_role' })],
    ['of the role postgres', () => sign({ role: 'postgres' })],
    ['of the role anon', () => sign({ role: 'anon' })],
    ['whose subject is a user id', () => sign({ sub: String(ana.id) })],
    ['whose subject is SQL', () => sign({ sub: "' or true --" })],
    ['without a subject', () => sign({ sub: undefined })],
    ['whose subject has no account', () => sign({ sub: '00000000-0000-4000-8000-000000000000' })],
    ['that is not a JWT', () => 'garbage'],
    ['of three dots', () => '...'],
    ['without an algorithm', () => signToken({}, claims, jwtSecret)],
    ['whose payload is a list', () => signToken({ alg: 'HS256' }, [claims], jwtSecret)],
    ['of 60 kB', () => sign({ padding: 'x'.repeat(45_000) }, { alg: 'HS256' }, other())],
  ])('%s', async (_, make) => expectRefused(`Bearer ${await make()}`))
})

test.each([
  ['Basic', () => `Basic ${ana.token}`],
  ['no scheme', () => ana.token],
  ['Bearer and nothing', () => 'Bearer'],
  ['two tokens', () => `Bearer ${ana.token} ${ana.token}`],
  ['two tokens and a comma', () => `Bearer ${ana.token}, Bearer ${ana.token}`],
  ['a token in quotes', () => `Bearer "${ana.token}"`],
  ['lower-case bearer and a forged token', () => `bearer ${ana.token}x`],
])('an Authorization header of %s is refused', (_, authorization) => expectRefused(authorization()))

test('without a token, and with a token elsewhere than in the header, the response is 401', async () => {
  const elsewhere = { apikey: ana.token, Cookie: `access_token=${ana.token}`, 'X-Access-Token': ana.token }
  for (const headers of [{}, elsewhere]) {
    for (const { status, body, headers: answered } of await onEveryRoute(headers)) {
      expect({ status, body }).toEqual({ status: 401, body: { error: expect.any(String) } })
      expect(answered.get('WWW-Authenticate')).toBe('Bearer')
    }
  }
  expect((await call('GET', `/users/me?access_token=${ana.token}`)).status).toBe(401)
})

test('the keys of the project are not accepted as tokens', async () => {
  const { secretKey, publishableKey } = inject('stack')
  await expectRefused(`Bearer ${secretKey}`)
  await expectRefused(`Bearer ${publishableKey}`)
})
