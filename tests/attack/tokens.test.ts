/** Tokens that are not ours, at every place that takes one: each operation, the Data API, Storage and Realtime. */
import { generateKeyPairSync } from 'node:crypto'
import { type JWTHeaderParameters, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { beforeAll, expect, inject, test } from 'vitest'
import { exampleRequest } from '../tools/example_requests.ts'
import { internals } from '../tools/internals.ts'
import { claimsOf, encode, signToken } from '../tools/jwt.ts'
import { operations } from '../tools/openapi.ts'
import { type Answer, call, dataApi, openConversation, type Person, signUp } from '../tools/people.ts'
import { connect, listen } from '../tools/realtime.ts'
import { search, uniqueCity } from '../tools/search.ts'

const { origin, publishableKey, secretKey, jwtSecret } = inject('stack')
const city = uniqueCity('Forged')
const logIn = (person: Person): Promise<Answer> => call('POST', '/auth/login', person)
const refresh = (refresh_token: string): Promise<Answer> => call('POST', '/auth/refresh', { refresh_token })

let ana: Person
let claims: JWTPayload
let conversation: number
let publishedKeys: string
beforeAll(async () => {
  ana = await signUp('Ana', { bio: 'Only Ana reads this', city, is_searchable: true })
  claims = claimsOf(ana.token)
  conversation = await openConversation(ana, await signUp('Ben'))
  publishedKeys = await (await fetch(`${origin}/auth/v1/.well-known/jwks.json`)).text()
})

const soon = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const other = bytes('another-secret-of-at-least-32-characters')
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwk = publicKey.export({ format: 'jwk' })
const hs256 = { alg: 'HS256' }
const sign = (
  changed: JWTPayload = {},
  header: JWTHeaderParameters = hs256,
  key: Parameters<SignJWT['sign']>[0] = bytes(jwtSecret),
) => new SignJWT({ ...claims, ...changed }).setProtectedHeader(header).sign(key)
const forge = (header: object, payload: unknown, key: string | Buffer = jwtSecret) => signToken(header, payload, key)
const service = () => ({ ...claims, role: 'service_role' })
const withPart = (place: number, change: (part: string) => string) =>
  ana.token.split('.').map((part, at) => at === place ? change(part) : part).join('.')

type Forgery = [what: string, make: () => string | Promise<string>]
const forgeries: Forgery[] = [
  ['without a signature, alg none', () => new UnsecuredJWT(claims).encode()],
  ['without a signature, alg None', () => `${encode({ alg: 'None' })}.${encode(claims)}.`],
  ['with alg none and a signature', () => forge({ alg: 'none', typ: 'JWT' }, claims)],
  ['without its signature', () => withPart(2, () => '')],
  ['with another signature', () => withPart(2, (part) => part.split('').reverse().join(''))],
  ['with another payload', () => withPart(1, () => encode({ ...claims, exp: soon(99_999) }))],
  ['signed with another secret', () => sign({}, hs256, other)],
  ['signed with an empty secret', () => forge(hs256, claims, '')],
  ['signed with the shared secret by HS512', () => sign({}, { alg: 'HS512' })],
  ['signed with the public JWKS as a secret', () => sign({}, hs256, bytes(publishedKeys))],
  ['signed with a public key as PEM', () => forge(hs256, claims, publicKey.export({ type: 'spki', format: 'pem' }))],
  ['signed with a public key as DER', () => forge(hs256, claims, publicKey.export({ type: 'spki', format: 'der' }))],
  ['signed with a public key as JWK', () => forge(hs256, claims, JSON.stringify(jwk))],
  ['signed with an unpublished key', () => sign({}, { alg: 'ES256', kid: 'unknown' }, privateKey)],
  ['with a jwk header', () => sign({}, { alg: 'ES256', jwk }, privateKey)],
  ['with a symmetric jwk header', () => forge({ ...hs256, jwk: { kty: 'oct', k: 'AAAA' } }, claims, '\0\0\0')],
  ['with jku and x5u headers', () => sign({}, { alg: 'ES256', jku: `${origin}/x`, x5u: `${origin}/x` }, privateKey)],
  ['with a path as kid', () => sign({}, { ...hs256, kid: '../../../../dev/null' }, other)],
  ['with SQL as kid', () => sign({}, { ...hs256, kid: "1' union select 'a" }, other)],
  ['with an unknown critical header', () => forge({ ...hs256, crit: ['x'], x: 1 }, claims)],
  ['without an algorithm', () => forge({}, claims)],
  ['whose payload is a list', () => forge(hs256, [claims])],
  ['that is not a JWT', () => 'garbage'],
  ['of three dots', () => '...'],
  ['of 60 kB', () => sign({ padding: 'x'.repeat(45_000) }, hs256, other)],
  ['of the service role without a signature', () => `${encode({ alg: 'none' })}.${encode(service())}.`],
  ['of the service role, signed with the publishable key', () => forge(hs256, service(), publishableKey)],
  ['of the service role with the signature of another token', () => withPart(1, () => encode(service()))],
  ['that expired a minute ago', () => sign({ exp: soon(-60) })],
]
/** With our signature, so the platform's own services take some of these: whoever has the secret has all rights. */
const foreign: Forgery[] = [
  ['without exp', () => sign({ exp: undefined })],
  ['with exp that is not a number', () => forge(hs256, { ...claims, exp: 'never' })],
  ['that is not valid yet', () => sign({ nbf: soon(60) })],
  ['for another audience', () => sign({ aud: 'elsewhere' })],
  ['without an audience', () => sign({ aud: undefined })],
  ['of another issuer', () => sign({ iss: 'https://example.com/auth/v1' })],
  ['whose issuer only begins like ours', () => sign({ iss: `${origin}/auth/v1/` })],
  ...['service_role', 'postgres', 'supabase_admin', 'edge_functions', 'anon']
    .map((role): Forgery => [`of the role ${role}`, () => sign({ role })]),
  ['whose subject is a user id', () => sign({ sub: String(ana.id) })],
  ['whose subject is SQL', () => sign({ sub: "' or true --" })],
  ['without a subject', () => sign({ sub: undefined })],
  ['whose subject has no account', () => sign({ sub: '00000000-0000-4000-8000-000000000000' })],
  ['to refresh the session', async () => (await logIn(ana)).body.refresh_token],
]

const needed = operations.filter(({ token }) => token === 'needed')
/** These operations refuse the header, and say as little to everybody. */
const expectRefused = async (headers: Record<string, string>, isGiven = true, asked = needed) => {
  const before = (await ana.call('GET', '/users/me')).body
  const message = isGiven ? /^(The token is not valid|This account no longer exists)$/ : /^A bearer token is needed$/
  for (const operation of asked) {
    const { name, method, needsSecretKey } = operation
    const { path, body } = exampleRequest(operation)
    const answer = await call(method, path, body, { headers })
    const challenge = needsSecretKey || !isGiven ? 'Bearer' : 'Bearer error="invalid_token"'
    const error = expect.stringMatching(needsSecretKey ? /^The secret key is needed$/ : message)
    expect({ name, status: answer.status, body: answer.body, challenge: answer.headers.get('WWW-Authenticate') })
      .toEqual({ name, status: 401, body: { error }, challenge })
    expect(answer.headers.get('Cache-Control')).toContain('no-store')
  }
  expect((await ana.call('GET', '/users/me')).body).toEqual(before)
}

/** The other places; each says what the token's bearer can do there. */
const places: [place: string, refusal: RegExp, attempt: (token: string) => Promise<string>][] = [
  // Ana does not find herself, and who has no token finds her.
  ['a search', /^anonymous$/, async (token) => {
    const { body } = await search({ filterCity: city }, token)
    return body.hits.length === 0 ? 'as Ana' : 'anonymous'
  }],
  ['the Data API', /^401 \{"code":"(PGRST30\d|42501)"/, async (token) => {
    const { status, text } = await dataApi(token, 'GET', 'users?select=*')
    return status === 200 && text.includes('Only Ana reads this') ? 'as Ana' : `${status} ${text}`
  }],
  ['Storage', /^400 \{"statusCode":"403"/, async (token) => {
    const path = `attachments/${conversation}/${crypto.randomUUID()}/note.txt`
    const headers = { apikey: publishableKey, 'Content-Type': 'text/plain' }
    const url = `${origin}/storage/v1/object/${path}`
    const { status, text } = await call('POST', url, undefined, { token, headers, raw: 'Hello' })
    return status === 200 ? 'as Ana' : `${status} ${text}`
  }],
  ['Realtime', /^CHANNEL_ERROR (JwtSignatureError|InvalidJWTToken|MalformedJWT): /, async (token) => {
    const { status, reason } = await listen(await connect(token), `user:${ana.id}`)
    return status === 'SUBSCRIBED' ? 'as Ana' : `${status} ${reason}`
  }],
]

// All operations ask one function for the bearer, so each forgery is tried on a ninth of them, and each operation with
// four or five. attack/matrix has every role on each.
const spread = [...forgeries, ...foreign].map(([what, make], place) => ({ what, make, place: place % 9 }))
test.each(spread)('no operation takes a token $what', async ({ make, place }) => {
  const asked = needed.filter((_, at) => at % 9 === place)
  await expectRefused({ Authorization: `Bearer ${await make()}` }, true, asked)
})

test.each(forgeries)('no other place takes a token %s', async (_, make) => {
  const token = await make()
  for (const [place, refusal, attempt] of places) {
    const outcome = await attempt(token)
    expect({ place, outcome }).toEqual({ place, outcome: expect.stringMatching(refusal) })
    expect(internals.test(outcome)).toBe(false)
  }
})

test("the user's own token is taken everywhere", async () => {
  for (const [place, , attempt] of places) expect([place, await attempt(ana.token)]).toEqual([place, 'as Ana'])
})

test.each<Forgery>([
  ['from Auth', () => ana.token],
  ['signed with the shared secret', () => sign()],
  ['that expires in a minute', () => sign({ exp: soon(60) })],
  ['with nbf a minute ago', () => sign({ nbf: soon(-60) })],
  ['with this and another audience', () => sign({ aud: ['elsewhere', 'authenticated'] })],
  ['with our issuer', () => sign({ iss: `${origin}/auth/v1` })],
])('a token %s is accepted, whatever the case of Bearer', async (_, make) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    const headers = { Authorization: `${scheme} ${await make()}` }
    const { status, body } = await call('GET', '/users/me', undefined, { headers })
    expect([status, body.id]).toEqual([200, ana.id])
  }
})

test('a token is accepted until it expires, even if it was verified before', async () => {
  const token = await sign({ exp: soon(2) })
  const ask = async () => (await call('GET', '/users/me', undefined, { token })).status
  expect(await ask()).toBe(200)
  await expect.poll(ask, { timeout: 30_000, interval: 250 }).toBe(401)
})

test.each<Forgery>([
  ['Basic', () => `Basic ${ana.token}`],
  ['no scheme', () => ana.token],
  ['Bearer and nothing', () => 'Bearer'],
  ['two tokens', () => `Bearer ${ana.token} ${ana.token}`],
  ['two tokens and a comma', () => `Bearer ${ana.token}, Bearer ${ana.token}`],
  ['a token in quotes', () => `Bearer "${ana.token}"`],
  ['lower-case bearer and a forged token', () => `bearer ${ana.token}x`],
  ['the publishable key', () => `Bearer ${publishableKey}`],
  ['the secret key', () => `Bearer ${secretKey}`],
])(
  'an Authorization header of %s is refused',
  async (_, make) => expectRefused({ Authorization: await make() }, true, needed.slice(0, 5)),
)

test('no token, and a token elsewhere than in the header, are refused', async () => {
  await expectRefused({}, false)
  await expectRefused({ apikey: ana.token, Cookie: `access_token=${ana.token}`, 'X-Access-Token': ana.token }, false)
  const { status, body } = await call('GET', `/users/me?access_token=${ana.token}`)
  expect([status, body]).toEqual([401, { error: 'A bearer token is needed' }])
})

test('a refresh token cannot be used twice', async () => {
  const { body: session } = await logIn(ana)
  const second = await refresh(session.refresh_token)
  expect(second.status).toBe(200)
  const third = await refresh(second.body.refresh_token)
  expect(third.status).toBe(200)
  // Auth accepts the latest one again for a few seconds, for clients that lost the response. Older ones are stolen.
  const stolen = await refresh(session.refresh_token)
  expect(stolen.status === 401 || stolen.body.refresh_token === third.body.refresh_token).toBe(true)
})
