import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { internals } from '../tools/internals.ts'
import { claimsOf, encode, signToken } from '../tools/jwt.ts'
import { operations } from '../tools/openapi.ts'
import { type Answer, asAdmin, call, type Person, signUp } from '../tools/people.ts'

const { origin, publishableKey, jwtSecret } = inject('stack')
const login = async ({ email, password }: Person): Promise<Answer['body']> =>
  (await call('POST', '/auth/login', { email, password })).body
const refresh = (refresh_token: string): Promise<Answer> => call('POST', '/auth/refresh', { refresh_token })

let ana: Person
let claims: Record<string, unknown>
beforeAll(async () => {
  ana = await signUp('Ana', { bio: 'Only Ana reads this' })
  claims = claimsOf(ana.token)
})

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicKey.export({ format: 'jwk' })
const service = () => ({ ...claims, role: 'service_role' })
const forgeries: [name: string, make: () => string | Promise<string>][] = [
  [
    'signed by HS256 with the public key as PEM',
    () => signToken({ alg: 'HS256' }, claims, publicKey.export({ type: 'spki', format: 'pem' })),
  ],
  [
    'signed by HS256 with the public key as DER',
    () => signToken({ alg: 'HS256' }, claims, publicKey.export({ type: 'spki', format: 'der' })),
  ],
  ['signed by HS256 with the public key as JWK', () => signToken({ alg: 'HS256' }, claims, JSON.stringify(jwk))],
  ['with a jwk header', () => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', jwk }).sign(privateKey)],
  [
    'with jku and x5u headers',
    () =>
      new SignJWT(claims).setProtectedHeader({ alg: 'ES256', jku: `${origin}/x`, x5u: `${origin}/x` }).sign(privateKey),
  ],
  [
    'signed with an unpublished key',
    () => new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'unknown' }).sign(privateKey),
  ],
  ['of the service role without a signature', () => `${encode({ alg: 'none' })}.${encode(service())}.`],
  [
    'of the service role, signed with the publishable key',
    () => signToken({ alg: 'HS256' }, service(), publishableKey),
  ],
  [
    'of the service role with the signature of another token',
    () => [ana.token.split('.')[0], encode(service()), ana.token.split('.')[2]].join('.'),
  ],
]

describe.each(forgeries)('a token %s', (_, make) => {
  test('is refused on every protected route', async () => {
    const token = await make()
    for (const { method, path } of operations.filter((operation) => operation.token === 'needed')) {
      const body = method === 'GET' ? undefined : {}
      const { status, text, headers } = await call(method, path.replace(/\{\w+\}/g, '1'), body, { token })
      expect({ method, path, status, exposes: internals.test(text) })
        .toEqual({ method, path, status: 401, exposes: false })
      const needsSecretKey = ['/health/metrics', '/embed', '/notify'].includes(path)
      expect(headers.get('WWW-Authenticate')).toBe(needsSecretKey ? 'Bearer' : 'Bearer error="invalid_token"')
    }
  })

  test('counts as no token in a search and reads nothing through the Data API', async () => {
    const token = await make()
    expect((await call('GET', '/users/search?limit=1', undefined, { token })).status).toBe(200)
    for (const path of ['users', 'profiles', 'messages', 'conversations', `users?id=eq.${ana.id}`]) {
      const { status, text } = await call('GET', `${origin}/rest/v1/${path}`, undefined, {
        token,
        headers: { apikey: publishableKey },
      })
      expect({ path, isRefused: status >= 400 }).toEqual({ path, isRefused: true })
      expect(text).not.toContain('Only Ana reads this')
    }
  })
})

test('forged claims of a correctly signed token give no rights', async () => {
  const forge = (changed: object) => signToken({ alg: 'HS256' }, { ...claims, ...changed }, jwtSecret)
  for (const role of ['service_role', 'postgres', 'supabase_admin', 'edge_functions', 'anon']) {
    expect((await call('GET', '/users/me', undefined, { token: forge({ role }) })).status).toBe(401)
  }
  const ben = await signUp('Ben')
  const rights = { app_metadata: { role: 'admin' }, user_metadata: { role: 'admin' }, user_id: ben.id, is_admin: true }
  const { body } = await call('GET', '/users/me', undefined, { token: forge(rights) })
  expect([body.id, body.role]).toEqual([ana.id, 'user'])
})

describe('a refresh token', () => {
  test('is not an access token, and an access token is not a refresh token', async () => {
    const session = await login(ana)
    expect((await call('GET', '/users/me', undefined, { token: session.refresh_token })).status).toBe(401)
    expect((await refresh(session.access_token)).status).toBe(401)
  })

  test('cannot be used twice', async () => {
    const session = await login(ana)
    const second = await refresh(session.refresh_token)
    expect(second.status).toBe(200)
    const third = await refresh(second.body.refresh_token)
    expect(third.status).toBe(200)
    // Auth accepts the latest one again for a few seconds, for clients that lost the response. Older ones are stolen.
    const stolen = await refresh(session.refresh_token)
    expect(stolen.status === 401 || stolen.body.refresh_token === third.body.refresh_token).toBe(true)
  })

  test('of a deactivated or erased user returns no session', async () => {
    for (
      const [change, status] of [[{ is_active: false }, 403], [
        { auth_id: null, is_active: false, email: '' },
        401,
      ]] as const
    ) {
      const gone = await signUp('Gone')
      const session = await login(gone)
      await asAdmin('PATCH', `users?id=eq.${gone.id}`, change)
      for (const answer of [await refresh(session.refresh_token), await call('POST', '/auth/login', gone)]) {
        expect({ status: answer.status, keys: Object.keys(answer.body) }).toEqual({ status, keys: ['error'] })
      }
    }
  })
})
