// A stack of its own, whose database no other test needs, and whose log is that of these tests.
import { expect, test, vi } from 'vitest'
import { queryNestingError } from '../../supabase/local/nesting.ts'
import { useStack } from '../tools/own_stack.ts'
import { call, openPair, type Person, sendMessage, signUp, uniqueEmail } from '../tools/people.ts'
import { connect, join } from '../tools/realtime.ts'
import { testKeys } from '../tools/stack.ts'
import { until } from '../tools/wait.ts'

// Hashing takes as long as it does for people.
const stack = useStack({ ACCESS_LOG: 'all', LITE_AUTH_BCRYPT_COST: '10', RATE_LIMIT_LOGIN: '20/360000' })
const headers = { apikey: testKeys.publishableKey }
const origin = () => new URL(stack.base).origin

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const dataApi = (method: string, path: string, body?: unknown, options: { token?: string; raw?: string } = {}) =>
  call(method, `${origin()}/${path}`, body, { ...options, headers })

/** The database still answers errors as errors, three times, and a valid query with rows. */
const expectHealthy = async (): Promise<void> => {
  for (let time = 0; time < 3; time++) {
    const refused = await dataApi('GET', 'rest/v1/interests?select=cast:name::int')
    expect([refused.status, refused.body.code]).toEqual([400, '22P02'])
  }
  expect((await dataApi('GET', 'rest/v1/interests?select=id&limit=1')).body).toHaveLength(1)
}

const signUpWithMessage = async (): Promise<Person> => {
  const { ana, conversation } = await openPair(stack.base)
  await sendMessage(ana, conversation, 'Hello')
  return ana
}

test('queries that are nested too deep are refused, and the database stays healthy', async () => {
  const { token } = await signUpWithMessage()
  const arrows = 'attachment' + '->a'.repeat(2000)
  for (const query of [`select=x:${arrows}`, `select=id&${arrows}=eq.1`, `order=${arrows}`]) {
    const { body } = await dataApi('GET', `rest/v1/messages?${query}`, undefined, { token })
    expect(body).toMatchObject({ code: 'PGRST100', message: expect.stringMatching(/arrows/) })
  }
  const deep = `rest/v1/messages?select=id&attachment=eq.${nested(2000)}`
  expect((await dataApi('GET', deep, undefined, { token })).status).toBe(400)
  const long = new URL(`${origin()}/rest/v1/interests?or=(${Array(7000).fill('id.eq.1').join()})`)
  expect(queryNestingError(long)).toMatch(/longer/)
  await expectHealthy()
})

test('a body that is nested too deep is refused by the Data API and by Auth', async () => {
  const { id, token } = await signUpWithMessage()
  const send = async (method: string, path: string, raw: string) => {
    const { status, body } = await dataApi(method, path, undefined, { token, raw })
    return [status, body.message ?? body.msg]
  }
  const refused = [400, 'The body is nested too deep']
  const deep = nested(20_000)
  const account = `"email": "${uniqueEmail()}", "password": "correct horse"`
  expect(await send('PATCH', `rest/v1/users?id=eq.${id}`, `{"bio": ${deep}}`)).toEqual(refused)
  expect(await send('POST', 'auth/v1/signup', `{${account}, "data": {"name": "Deep", "x": ${deep}}}`)).toEqual(refused)
  expect(await send('PUT', 'auth/v1/user', `{"data": {"x": ${deep}}}`)).toEqual(refused)
  await expectHealthy()
})

test('a Realtime filter that is too long or nested too deep is refused', async () => {
  const ana = await signUpWithMessage()
  for (const levels of [1000, 100_000]) {
    const client = await connect(ana.token, { origin: origin() })
    const channel = client.channel(`user:${ana.id}`, { config: { private: true } })
    const answers: { status: string }[] = []
    channel.on('system', {}, (answer) => answers.push(answer))
    const filter = `attachment=eq.${nested(levels)}`
    channel.on('postgres_changes', { event: '*', schema: 'public', table: 'messages', filter }, () => {})
    expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
    await until(() => answers.length > 0)
    expect([levels, answers[0]]).toEqual([levels, expect.objectContaining({ status: 'error' })])
  }
  await expectHealthy()
})

test('brackets inside strings do not count as nesting', async () => {
  const { id, token } = await signUpWithMessage()
  const bio = `${'('.repeat(200)} \\" ${'['.repeat(200)}`
  const admin = { headers: { apikey: testKeys.secretKey } }
  expect((await call('PATCH', `${origin()}/rest/v1/users?id=eq.${id}`, { bio }, admin)).status).toBeLessThan(300)
  const read = async (path: string) => (await dataApi('GET', `rest/v1/${path}`, undefined, { token })).body
  expect(await read(`users?id=eq.${id}&select=bio`)).toEqual([{ bio }])
  expect(await read('messages?select=x:attachment->a->b->>c')).toEqual([{ x: null }])
})

test('an insert with more parameters than PGlite can read is refused, and the database stays healthy', async () => {
  const { status } = await dataApi('POST', 'rest/v1/interests', Array(33_000).fill({ name: 'x' }))
  expect(status).toBeGreaterThanOrEqual(400)
  await expectHealthy()
  expect((await call('GET', `${stack.base}/users/interests`)).body.length).toBeGreaterThan(0)
})

test('log-ins wait for each other and others do not wait for them; too many are refused', async () => {
  const ana = await signUp('Ana', {}, stack.base)
  const statuses: number[] = []
  const count = (status: number) => statuses.filter((one) => one === status).length
  const wrong = { email: ana.email, password: 'wrong' }
  const logIn = async () => statuses.push((await dataApi('POST', 'auth/v1/token?grant_type=password', wrong)).status)
  const all = Array.from({ length: 30 }, logIn)
  for (let reads = 0; reads < 5; reads++) expect((await ana.call('GET', '/users/me')).status).toBe(200)
  expect(count(400)).toBeLessThan(15)
  await Promise.all(all)
  expect([count(400), count(429)]).toEqual([20, 10])
})

test('wrong codes are counted, and then the right one is refused as well', async () => {
  const { email } = await signUp('Ana', {}, stack.base)
  await call('POST', `${stack.base}/auth/recover`, { email })
  const code = await vi.waitUntil(() => stack.output.split(`To: ${email}\n`)[1]?.match(/code: (\d+)/)?.[1])
  const use = async (token: string) =>
    (await dataApi('POST', 'auth/v1/verify', { type: 'recovery', email, token })).status
  const wrong = Array.from({ length: 70 }, (_, index) => `${(Number(code) + 1 + index) % 1e6}`.padStart(6, '0'))
  const statuses = await Promise.all(wrong.map(use))
  // 61 at once, and another every ten seconds, which pass on a busy machine.
  const counted = statuses.filter((status) => status === 403).length
  expect([counted >= 61, counted < 66, new Set(statuses)]).toEqual([true, true, new Set([403, 429])])
  expect(await use(code)).toBe(429)
})

/** The log line of the request with this id, which is printed after the answer. */
const lineOf = (id: string) =>
  vi.waitUntil(() => {
    const lines = stack.output.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'))
    return lines.map((line) => JSON.parse(line)).find(({ request }) => request === id)
  }, { timeout: 50_000 })
const callFunction = (method: string, path: string, id: string, token = '', json?: unknown) =>
  call(method, `${stack.base}${path}`, undefined, {
    token,
    headers: { 'X-Request-Id': id },
    ...(json !== undefined && { raw: typeof json === 'string' ? json : JSON.stringify(json) }),
  })

test('no names, texts, e-mail addresses, passwords or tokens are printed, nor by Auth and the Data API', async () => {
  const from = stack.output.length
  const account = { email: 'private.ana@example.com', password: 'private horse' }
  const profile = { name: 'Private Ana', biography: 'private life', is_searchable: true }
  const { status, body } = await callFunction('POST', '/auth/signup', 'signup', '', { ...account, ...profile })
  expect(status).toBe(201)
  const { access_token: token, refresh_token } = body
  await callFunction('GET', '/users/search?q=private+question', 'search', token)
  await callFunction('GET', '/users/private-path', 'path', token)
  await callFunction('PATCH', '/users/profile', 'patch', token, '{"city": private')
  await callFunction('POST', '/auth/login', 'login', '', { ...account, password: 'private mistake' })
  for (const name of ['private \0 Ben', ' ']) {
    const other = { email: 'private.ben@example.com', password: 'private horse', data: { name, private: 'private' } }
    expect((await dataApi('POST', 'auth/v1/signup', other)).status).toBe(400)
  }
  const refused: [method: string, path: string, body?: unknown][] = [
    ['POST', 'auth/v1/token?grant_type=password', { email: { private: 1 }, password: 5 }],
    ['PUT', 'auth/v1/user', { data: { private: 'private \0' } }],
    ['PATCH', 'rest/v1/users?id=gt.0', { name: 'private '.repeat(100) }],
    ['PATCH', 'rest/v1/profiles?id=gt.0', { age: 'private' }],
    ['PATCH', 'rest/v1/users?id=eq.private', { name: 'private' }],
    ['POST', 'rest/v1/users', { name: 'private', email: 'private' }],
    ['GET', 'rest/v1/users?private=eq.private&order=private'],
    ['GET', 'rest/v1/messages?content=fts.private(&select=id'],
    ['POST', 'rest/v1/rpc/private', { private: 1 }],
  ]
  for (const [method, path, body] of refused) {
    expect([path, (await dataApi(method, path, body, { token })).status >= 400]).toEqual([path, true])
  }
  await callFunction('GET', '/health', 'afterwards')
  for (const id of ['signup', 'search', 'path', 'patch', 'login', 'afterwards']) await lineOf(id)
  const printed = stack.output.slice(from)
  expect(printed).not.toMatch(/private|\$2[aby]\$|insert into|params/i)
  for (const secret of [token, refresh_token]) expect(printed).not.toContain(secret)
})
