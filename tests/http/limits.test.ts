/**
 * Rate limits: each limit with every operation that it counts, and the operations that have none. Whose address counts
 * is in tests/local/client_address.checks.ts.
 */
import postgres from 'postgres'
import { describe, expect, test } from 'vitest'
import { type RateName, rateNames } from '../../functions/_shared/setting_rules.ts'
import { exampleRequest } from '../tools/example_requests.ts'
import { type Operation, operations } from '../tools/openapi.ts'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { type Answer, call, uniqueEmail } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'

const burst = 4
/** One a this many seconds. */
const interval = 1500
const stack = useStack({
  ...Object.fromEntries(rateNames.map((name) => [name, `${burst}/${burst * interval}`])),
  // The tests act as the proxy before the gateway, so they can choose the client address.
  TRUSTED_PROXIES: '2',
  ...(databaseUrl && { DATABASE_URL: databaseUrl }),
})

type Options = Parameters<typeof call>[3]
const request = (method: string, path: string, body?: unknown, options?: Options) =>
  call(method, path.startsWith('/') ? stack.base + path : path, body, options)
const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } })
let count = 0
/** An unused address of a network for documentation. */
const freshAddress = () => `203.0.${process.pid % 256}.${count++}`

type Limited = { id: number; email: string; token: string }
const password = 'correct horse'
const logIn = (email: string, options: Options, secret = password) =>
  request('POST', '/auth/login', { email, password: secret }, options)
/** A user, created with the secret key, which has no rate limit. */
const person = async (): Promise<Limited> => {
  const account = { email: uniqueEmail(), password, name: 'Limited' }
  const made = await request('POST', '/users', account, { headers: { apikey: testKeys.secretKey } })
  const { body } = await logIn(account.email, from(freshAddress()))
  return { id: made.body.id, email: account.email, token: body.access_token }
}
const talk = async () => {
  const [ana, ben] = await Promise.all([person(), person()])
  const { body: { id } } = await request('POST', '/conversations', { other_user_id: ben.id }, ana)
  return { ana, conversation: `/conversations/${id}` }
}
const search = (options: Options) => request('GET', '/users/search?limit=1', undefined, options)

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted()
const times = (length: number, request: () => Promise<Answer>) => Promise.all(Array.from({ length }, request))
const several = (length: number, status: number) => Array<number>(length).fill(status)
/** Expects 429 with a whole number of seconds in Retry-After. */
const expectLimited = ({ status, body, headers }: Answer, about = '') => {
  const error = 'Too many requests, please try again later'
  expect({ about, status, body }).toEqual({ about, status: 429, body: { error } })
  expect(headers.get('Retry-After')).toMatch(/^[1-9]\d*$/)
  expect(Number(headers.get('Retry-After'))).toBeLessThanOrEqual(interval)
  expect(headers.get('Cache-Control')).toContain('no-store')
}

/** What each limit counts; by address without a token. */
const limited: Record<RateName, string[]> = {
  RATE_LIMIT_SEND: [
    'POST /conversations/{id}/messages',
    ...['PATCH', 'DELETE'].map((method) => `${method} /conversations/{id}/messages/{messageId}`),
  ],
  RATE_LIMIT_OPEN: ['POST /conversations'],
  RATE_LIMIT_RESERVE: [
    'POST /conversations/{id}/reservations',
    'PATCH /conversations/{id}/reservations/{rid}',
    ...['accept', 'decline', 'cancel', 'complete'].map((step) => `POST /conversations/{id}/reservations/{rid}/${step}`),
  ],
  RATE_LIMIT_REPORT: ['POST /users/me/reports'],
  RATE_LIMIT_SEARCH: ['GET /users/search', 'GET /users/search/complete', 'GET /conversations/search'],
  RATE_LIMIT_SEARCH_ANONYMOUS: ['GET /users/search'],
  RATE_LIMIT_SIGNUP: ['POST /auth/signup', 'POST /users'],
  RATE_LIMIT_LOGIN: ['POST /auth/login'],
  RATE_LIMIT_REFRESH: ['POST /auth/refresh'],
  RATE_LIMIT_RECOVER: ['POST /auth/recover'],
  RATE_LIMIT_PROFILE: ['PATCH /users/profile', 'PUT /users/profile/interests', 'PATCH /users/searchable'],
  RATE_LIMIT_STATE: ['PUT /conversations/{id}/state'],
  RATE_LIMIT_BLOCK: ['PUT /users/me/blocks/{user_id}', 'DELETE /users/me/blocks/{user_id}'],
  RATE_LIMIT_DEVICE: ['PUT /users/me/devices/{device}', 'PATCH /users/me/notifications'],
  RATE_LIMIT_EXPORT: ['GET /users/me/export'],
}
const byAddress = ['SEARCH_ANONYMOUS', 'SIGNUP', 'LOGIN', 'REFRESH', 'RECOVER'].map((name) => `RATE_LIMIT_${name}`)
/** As in the document, about things that do not exist. */
const send = (operation: Operation, who: Options) => {
  const nowhere = { user: 2 ** 40, profile: 2 ** 40, conversation: 2 ** 40, message: 2 ** 40, reservation: 2 ** 40 }
  const { path, body } = exampleRequest(operation, nowhere)
  return request(operation.method, path, body, who)
}

describe.each(rateNames)('%s', (name) => {
  const counted = limited[name].map((one) => operations.find((operation) => operation.name === one)!)
  const newcomer = async (): Promise<Options> =>
    byAddress.includes(name) ? from(freshAddress()) : { token: (await person()).token }

  test.each(counted)(
    'lets exactly the burst of $name through, also of concurrent ones that fail',
    async (operation) => {
      const [one, other] = [await newcomer(), await newcomer()]
      // What is not valid is not counted.
      if (operation.body) {
        const invalid = await times(burst + 1, () => request(operation.method, exampleRequest(operation).path, [], one))
        expect(statuses(invalid)).toEqual(several(burst + 1, 400))
      }
      const answers = await times(20, () => send(operation, one))
      const refused = answers.filter(({ status }) => status === 429)
      expect(statuses(answers.filter(({ status }) => status !== 429)), operation.name).toHaveLength(burst)
      expect(statuses(answers).filter((status) => status >= 500)).toEqual([])
      for (const answer of refused) expectLimited(answer)
      for (const shared of counted) expectLimited(await send(shared, one), shared.name)
      expect((await send(operation, other)).status).not.toBe(429)
    },
  )
})

const unlimited = operations.filter(({ name }) => !Object.values(limited).flat().includes(name))
test.each(unlimited)('$name has no limit', async (operation) => {
  const { token } = await person()
  expect(statuses(await times(3 * burst, () => send(operation, { token })))).not.toContain(429)
})

describe('anonymous clients are limited by address', () => {
  test('with a token that is not valid as well, whatever other headers say', async () => {
    const here = from(freshAddress()).headers
    const spoofed = (n: number) => ({ 'CF-Connecting-IP': `198.51.100.${n}`, 'X-Real-IP': `198.51.100.${n}` })
    const answers = several(burst + 1, 0).map((_, n) =>
      search({ token: 'garbage', headers: { ...here, ...spoofed(n), Forwarded: `for=198.51.100.${n}` } })
    )
    expect(statuses(await Promise.all(answers))).toEqual([...several(burst, 200), 429])
  })

  test('the secret key has no limit of sign-ups, and the publishable key has it', async () => {
    const here = from(freshAddress())
    const create = (apikey: string) =>
      request('POST', '/users', { email: uniqueEmail(), name: 'Created' }, { headers: { ...here.headers, apikey } })
    expect(statuses(await times(2 * burst, () => create(testKeys.secretKey)))).toEqual(several(2 * burst, 201))
    await times(burst, () => create(testKeys.publishableKey))
    expectLimited(await create(testKeys.publishableKey))
  })

  test('failed log-ins of others do not lock an account, and a limited refresh uses no token up', async () => {
    const ana = await person()
    const { body } = await logIn(ana.email, from(freshAddress()))
    const here = from(freshAddress())
    expect(statuses(await times(burst, () => logIn(ana.email, here, 'wrong horse')))).toEqual(several(burst, 401))
    expectLimited(await logIn(ana.email, here))
    expect((await logIn(ana.email, from(freshAddress()))).status).toBe(200)
    const refresh = (refresh_token: string, options: Options) =>
      request('POST', '/auth/refresh', { refresh_token }, options)
    expect(statuses(await times(burst, () => refresh('unknown', here)))).toEqual(several(burst, 401))
    expectLimited(await refresh(body.refresh_token, here))
    expect((await refresh(body.refresh_token, from(freshAddress()))).status).toBe(200)
  })
})

describe.skipIf(!databaseUrl)('with Postgres under locks', () => {
  /** Runs the work while a transaction holds this statement's locks. */
  const withLocks = async (statement: string, work: () => Promise<void>) => {
    const sql = postgres(databaseUrl!, { max: 1 })
    try {
      await sql.begin(async (transaction) => {
        await transaction.unsafe(statement)
        await work()
      })
    } finally {
      await sql.end()
    }
  }
  const sendMessage = (who: Limited, conversation: string) =>
    request('POST', `${conversation}/messages`, { content: 'Hello' }, who)

  test('who waits for their own other requests is refused, and nobody else is', async () => {
    const { ana, conversation } = await talk()
    const send = (who: Limited) => sendMessage(who, conversation)
    const { sub } = JSON.parse(Buffer.from(ana.token.split('.')[1]!, 'base64url').toString())
    expect((await send(ana)).status).toBe(201)
    const key = `private.rate_limit_key('RATE_LIMIT_SEND', '${sub}')`
    await withLocks(`select from private.rate_limits where key = ${key} for update`, async () => {
      const [other, answers] = [await talk(), await times(2 * burst, () => send(ana))]
      for (const answer of answers) expectLimited(answer)
      expect((await sendMessage(other.ana, other.conversation)).status).toBe(201)
    })
    expect(statuses(await times(burst, () => send(ana)))).toEqual([...several(burst - 1, 201), 429])
  })
})
