// How the functions take requests: what they log and count, how many they let wait, and what they refuse.
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { signToken } from '../tools/jwt.ts'
import { check, equal, until } from './check.ts'

/** A function, as it answers requests of these paths. */
const load = async (name: string) => {
  const app = (await import(`../../functions/${name}/index.ts`)).default
  return (path: string, init: RequestInit = {}): Promise<Response> => app.fetch(new Request(`http://x/${path}`, init))
}

const readLog = () => {
  const lines: { level: string; message: string; status: number; ms: number }[] = []
  const add = (line: string) => lines.push(JSON.parse(line))
  Object.assign(console, { info: add, warn: add, error: add })
  return lines
}

/** A database that holds each statement that this names until the check answers. */
const holdStatements = async (which: RegExp) => {
  const { provideQuery } = await import('../../functions/_shared/rpc.ts')
  const held: PromiseWithResolvers<{ body: string }[]>[] = []
  provideQuery((text) => {
    if (!which.test(text)) return Promise.resolve([{ body: '[]' }])
    held.push(Promise.withResolvers())
    return held.at(-1)!.promise
  })
  // What a search reads of its answer, and nobody else.
  const body = JSON.stringify({ answer: { hits: [] }, query: { corrections: [], completions: [] } })
  return { held, release: () => held.splice(0).forEach(({ resolve }) => resolve([{ body }])) }
}

check('ACCESS_LOG says which requests are logged; Supabase takes 100 lines in ten seconds', {}, async () => {
  const lines = readLog()
  const { createApp } = await import('../../functions/_shared/app.ts')
  let now = 0
  performance.now = () => now
  const app = createApp('tested').get('/:ms/:status', (c) => {
    now += Number(c.req.param('ms'))
    return c.json({}, Number(c.req.param('status')) as 200)
  })
  const logged = async (ACCESS_LOG: string) => {
    Deno.env.set('ACCESS_LOG', ACCESS_LOG)
    for (const path of ['0/200', '0/404', '0/500', '1001/200']) await app.request(`http://x/tested/${path}`)
    return lines.splice(0).map(({ message, status, ms }) => `${message}: ${status}, ${ms}`)
  }
  const [ok, refused, failed, slow] = ['200, 0', '404, 0', '500, 0', '200, 1001'].map((end) =>
    `Request completed: ${end}`
  )
  equal(await logged('all'), [ok, refused, failed, slow])
  equal(await logged('slow'), [failed, slow])
  equal(await logged('errors'), [failed])
  equal(await logged('off'), [])
  // Hosted, where nothing is set.
  equal(await logged(''), [failed, slow])
})

const misunderstood = { PUBLIC_USER_CREATION: 'false', ACCESS_LOG: 'off' }
check(
  'every function refuses all requests with a setting that it does not know',
  misunderstood,
  async () => {
    const lines = readLog()
    const names = [...Deno.readDirSync('functions')].map(({ name }) => name).filter((name) => /^[a-z]+$/.test(name))
    equal(names.length >= 6, true)
    for (const name of names) {
      const ask = await load(name)
      const line = 'PUBLIC_USER_CREATION is "false", and must be on or off'
      equal(lines.splice(0).map(({ level, message }) => [level, message]), [['error', line]])
      for (const [method, path] of [['GET', ''], ['POST', ''], ['GET', '/openapi.json'], ['GET', '/nothing']]) {
        const answer = await ask(`${name}${path}`, { method })
        equal([name, path, answer.status, await answer.json()], [name, path, 500, { error: 'Internal server error' }])
      }
    }
  },
)

check('a truncated body is 400 and is not logged as an error, also without a Content-Length', {}, async () => {
  const lines = readLog()
  const ask = await load('auth')
  const parts = [new TextEncoder().encode('{"email":')]
  const body = new ReadableStream({
    pull: (stream) => parts.length ? stream.enqueue(parts.pop()) : stream.error(new TypeError('connection lost')),
  })
  const headers = { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }
  const answer = await ask('auth/login', { method: 'POST', headers, body })
  equal([answer.status, await answer.json()], [400, { error: 'The body ended too soon' }])
  equal(lines.filter(({ level }) => level !== 'info'), [])
})

check('a body that trickles or never ends is 408, one cut off is 400, a quick one is taken', {}, async () => {
  const { chunksOf, readBody } = await import('../../supabase/local/body.ts')
  /** What becomes of so many chunks of this size, one every few milliseconds. */
  const read = async (chunks: number, bytes: number, pace: object) => {
    const pull = async (stream: ReadableStreamDefaultController<Uint8Array>) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (chunks-- > 0) stream.enqueue(new Uint8Array(bytes))
      else stream.close()
    }
    const limits = { milliseconds: 60_000, firstMilliseconds: 50, bytesPerSecond: 10_000, ...pace }
    const body = chunksOf(new ReadableStream({ pull }, { highWaterMark: 0 }), 1e9, () => new Error('too large'), limits)
    return await Array.fromAsync(body).then((all) => all.length, ({ status }) => status)
  }
  equal(await read(1000, 1, {}), 408)
  equal(await read(1000, 10_000, { milliseconds: 100 }), 408)
  equal(await read(30, 10_000, {}), 30)
  equal(await read(5, 1, { firstMilliseconds: 30_000 }), 5)
  // What is read whole has all its time from the beginning.
  const whole = (start: (stream: ReadableStreamDefaultController<Uint8Array>) => void) =>
    readBody(new ReadableStream({ start }), { milliseconds: 50 }).then(() => 'read', ({ status }) => status)
  equal(await whole((stream) => stream.enqueue(new Uint8Array(1))), 408)
  equal(await whole((stream) => stream.error(new Error('connection lost'))), 400)
})

const expectQueue = async (capacity: number) => {
  const { held, release } = await holdStatements(/./)
  const ask = await load('users')
  /** Sends all before the database answers, or fails. */
  const send = async (count: number, end: () => void) => {
    let refused = 0
    const answers = Array.from({ length: count }, async () => {
      const { status, headers } = await ask('users/interests')
      if (status === 503) refused++
      // Clients may cache the list of interests, but no error.
      return [status, headers.get('Retry-After'), headers.get('Cache-Control')!.includes('no-store')].join()
    })
    await until(() => held.length + refused === count)
    end()
    return (await Promise.all(answers)).join(' ')
  }
  const all = (...answers: [count: number, answer: string][]) =>
    answers.flatMap(([count, answer]) => Array(count).fill(answer)).join(' ')
  equal(await send(capacity + 4, release), all([capacity, '200,,false'], [4, '503,1,true']))
  // Requests leave the queue when they are answered, and also when they fail.
  const fail = () => held.splice(0).forEach(({ reject }) => reject(new Error('seeded')))
  equal(await send(5, fail), all([5, '500,,true']))
  equal(await send(5, release), all([5, '200,,false']))
}
const three = { DATABASE_POOL: '2', DATABASE_QUEUE: '3' }
check('if two connections are busy and three requests wait, the next get 503', three, () => expectQueue(5))
check('by default there are six connections and a queue of a thousand', {}, () => expectQueue(1006))

const limits = {
  RATE_LIMIT_SEARCH: 'off',
  RATE_LIMIT_PROFILE: 'off',
  JWT_SECRET: 'test-secret-of-at-least-32-characters',
  JWT_ISSUER: 'http://x/auth/v1',
}
type Call = [method: string, path: string, body?: object]
const search: Call = ['GET', 'search']
const changes: Call[] = [
  ['PATCH', 'profile', { city: 'Porto' }],
  ['PUT', 'profile/interests', { interest_ids: [1] }],
  ['PATCH', 'searchable', { is_searchable: true }],
  ['DELETE', 'me'],
]
const concurrency: [what: string, settings: Record<string, string>, running: number][] = [
  ['searches use half of the connections', {}, 3],
  ['searches use the only connection if there is one', { DATABASE_POOL: '1' }, 1],
  ['changes of accounts use a quarter of the connections', { DATABASE_POOL: '12' }, 3],
  ['changes of accounts use at least one connection', {}, 1],
]
for (const [what, settings, running] of concurrency) {
  check(`${what}, a hundred wait for four seconds, the next are rejected`, { ...limits, ...settings }, async () => {
    const isSearch = what.startsWith('searches')
    // Waits of a second and more last until the check ends them.
    const waits = new Map<() => void, number>()
    const { setTimeout: set, clearTimeout: clear } = globalThis
    Object.assign(globalThis, {
      setTimeout: (end: () => void, ms = 0) => ms < 1000 ? set(end, ms) : waits.set(end, ms) && end,
      clearTimeout: (timer: () => void) => waits.delete(timer) || clear(timer as never),
    })
    const which = isSearch ? /search_profiles/ : /update_profile|set_interests|set_searchable|erase_me/
    const { held, release } = await holdStatements(which)
    const ask = await load('users')
    const claims = { sub: crypto.randomUUID(), role: 'authenticated', iss: limits.JWT_ISSUER, aud: 'authenticated' }
    const token = signToken({ alg: 'HS256' }, { ...claims, exp: 1e10 }, limits.JWT_SECRET)
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
    const answers: string[] = []
    const send = async ([method, path, body]: Call) => {
      const answer = await ask(`users/${path}`, { method, headers, body: body && JSON.stringify(body) })
      answers.push(answer.ok ? 'done' : `${answer.status}, again in ${answer.headers.get('Retry-After')} s`)
    }
    const times = (count: number, answer: string) => Array(count).fill(answer)
    const rejected = '503, again in 1 s'
    const count = running + 104
    const sent = Promise.all(Array.from({ length: count }, (_, at) => send(isSearch ? search : changes[at % 4]!)))
    await until(() => held.length + waits.size + answers.length === count)
    equal([held.length, waits.size, answers.splice(0)], [running, 100, times(4, rejected)])
    equal(new Set(waits.values()), new Set([4000]))
    await send(['GET', 'me'])
    for (const end of [...waits.keys()].slice(0, 10)) {
      waits.delete(end)
      end()
    }
    await until(() => answers.length === 11)
    equal(answers.splice(0), ['done', ...times(10, rejected)])
    // Who comes now waits behind those who have waited.
    release()
    await until(() => held.length === running)
    const later = send(isSearch ? search : changes[0]!)
    await until(() => held.length + waits.size === 91)
    equal(held.length, running)
    while (answers.length < running + 91) {
      await until(() => held.length > 0 || answers.length === running + 91)
      equal(held.length <= running, true)
      release()
    }
    await later
    await sent
    equal(answers, times(running + 91, 'done'))
  })
}

const shared = { JWT_SECRET: 'a shared secret of more than 32 characters' }
check('tokens signed with a key that Auth publishes are accepted, and no others', shared, async () => {
  const es = await generateKeyPair('ES256', { extractable: true })
  const rs = await generateKeyPair('RS256', { extractable: true })
  const other = await generateKeyPair('ES256')
  const keys = [
    { ...await exportJWK(es.publicKey), kid: 'es', alg: 'ES256', use: 'sig' },
    { ...await exportJWK(rs.publicKey), kid: 'rs', alg: 'RS256', use: 'sig' },
  ]
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, () => Response.json({ keys }))
  const origin = `http://127.0.0.1:${server.addr.port}`
  Deno.env.set('SUPABASE_URL', origin)
  const { verifyToken } = await import('../../functions/_shared/token.ts')
  const publicKey = new TextEncoder().encode(await exportSPKI(es.publicKey))
  const tokens: [what: string, alg: string, kid: string, key: CryptoKey | Uint8Array, isAccepted: boolean][] = [
    ['ES256', 'ES256', 'es', es.privateKey, true],
    ['RS256', 'RS256', 'rs', rs.privateKey, true],
    ['another key', 'ES256', 'es', other.privateKey, false],
    ['an unknown id', 'ES256', 'other', other.privateKey, false],
    ['the public key as a shared secret', 'HS256', 'es', publicKey, false],
  ]
  for (const [what, alg, kid, key, isAccepted] of tokens) {
    const token = await new SignJWT({ role: 'authenticated' }).setProtectedHeader({ alg, kid })
      .setSubject(crypto.randomUUID()).setAudience('authenticated').setIssuer(`${origin}/auth/v1`)
      .setExpirationTime('1h').sign(key)
    equal([what, await verifyToken(token) !== null], [what, isAccepted])
  }
})

check('losing a connection to the database, which is logged once, ends no process; other errors do', {}, async () => {
  const lines = readLog()
  const { surviveConnectionLoss } = await import('../../supabase/local/connection_loss.ts')
  surviveConnectionLoss()
  const survived: boolean[] = []
  for (const type of ['error', 'unhandledrejection']) {
    addEventListener(type, (event) => {
      survived.push(event.defaultPrevented)
      event.preventDefault()
    })
  }
  // What postgres.js throws outside of any promise. The error of a statement comes from the same file.
  const connection = 'file:///srv/node_modules/postgres/src/connection.js:253:22'
  const atWrite = Object.assign(new TypeError('seeded'), {
    stack: `TypeError: seeded\n    at nextWrite (${connection})`,
  })
  const stack = `PostgresError: anything else\n    at parse (${connection})`
  const ofStatement = Object.assign(new Error('anything else'), { code: '42P01', stack })
  void Promise.reject(Object.assign(new Error('seeded'), { code: 'CONNECTION_CLOSED' }))
  await until(() => survived.length === 1)
  setTimeout(() => {
    throw atWrite
  })
  await until(() => survived.length === 2)
  void Promise.reject(ofStatement)
  await until(() => survived.length === 3)
  equal([survived, lines.length], [[true, true, false], 2])
})
