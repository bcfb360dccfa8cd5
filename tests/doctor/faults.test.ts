// Each check of `npm run doctor` against a project in which that fault is made. doctor.test.ts has the one without.
import { expect, inject, test } from 'vitest'
import { testKeys } from '../tools/stack.ts'
import { type StorageRefusal, storageRefusals } from '../tools/storage_answers.ts'
import { runDoctor } from './doctor.ts'
import { type Asked, type Fault, openStandIn, type Reply } from './stand_in.ts'

const { origin } = inject('stack')

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

type Answer = Reply | ((asked: Asked) => Reply | null)

/** Answers these requests differently, for which "METHOD path" matches. */
const answers = (pattern: RegExp, answer: Answer): Fault => ({
  http: (asked) => {
    if (!pattern.test(`${asked.method} ${asked.path}`)) return null
    return typeof answer === 'function' ? answer(asked) : answer
  },
})

/** Changes the project's own answer. */
const changes = (pattern: RegExp, change: (reply: Reply) => Partial<Reply>): Fault => ({
  http: async (asked, forward) => {
    if (!pattern.test(`${asked.method} ${asked.path}`)) return null
    const reply = await forward()
    return { ...reply, ...change(reply) }
  },
})

type Header = string | null | (() => string)
const withHeader = (name: string, given: Header) => ({ headers = {} }: Reply): Partial<Reply> => {
  const { [name]: _, ...others } = headers
  const value = typeof given === 'function' ? given() : given
  return { headers: value === null ? others : { ...others, [name]: value } }
}

const joins = (topic: string): Fault => ({
  join: (asked) => asked === topic ? { status: 'ok', response: { postgres_changes: [] } } : null,
})

const metric = (name: string, value: number): Fault =>
  changes(/GET .*\/health\/metrics/, ({ body }) => ({
    body: body.replace(new RegExp(`^(${name}(?:\\{\\S*\\})?) \\S+$`, 'm'), `$1 ${value}`),
  }))

const missingColumn = json(400, { code: '23502', message: 'null value in column "name"' })
const { noBucket, notFound } = storageRefusals
const file = (bucket: string, { body }: StorageRefusal): Fault =>
  storage(new RegExp(`^GET /storage/v1/object/info/public/${bucket}/`), json(400, body))

/** A Storage as it should be, but for one answer. */
const storage = (pattern: RegExp, answer: Reply): Fault => ({
  http: ({ method, path }) => {
    if (pattern.test(`${method} ${path}`)) return answer
    if (path.startsWith('/storage/v1/object/info/public/attachments')) return json(400, noBucket.body)
    if (path.startsWith('/storage/v1/object/info/public/avatars')) return json(400, notFound.body)
    if (path === '/storage/v1/object/list/attachments') return json(200, [])
    return null
  },
})

const openApi = (name: string): Fault['http'] => (asked) => {
  const definitions = { [name]: { properties: { id: {}, text: {} }, required: ['text'] } }
  const refused = json(401, { code: '42501' })
  if (asked.path === '/rest/v1/' && asked.key === testKeys.secretKey) return json(200, { definitions })
  return asked.path.startsWith(`/rest/v1/${name}`) && asked.method !== 'GET' ? refused : null
}

/** A project in which somebody created a function. */
const withFunction = (name: string, reply: Reply): Fault => ({
  http: (asked) => {
    if (asked.path === '/rest/v1/' && asked.key === testKeys.secretKey) {
      const parameters = [{ in: 'query', name: 'person' }, { in: 'header', name: 'Prefer' }]
      return json(200, { definitions: {}, paths: { '/': {}, '/users': {}, [`/rpc/${name}`]: { get: { parameters } } } })
    }
    // PostgREST does not find it by other parameters.
    return asked.path === `/rest/v1/rpc/${name}?person=` ? reply : null
  },
})

const metricLines = (change: (text: string) => string): Fault =>
  changes(/GET .*\/health\/metrics/, ({ body }) => ({ body: change(body) }))

const faults: [fault: string, check: string, made: Fault, detail: RegExp][] = [
  [
    'the clock is a minute behind',
    'clock',
    changes(/\/health$/, withHeader('date', () => new Date(Date.now() - 60_000).toUTCString())),
    /(59|6\d)\.\d s behind/,
  ],
  [
    'the clock is a minute ahead',
    'clock',
    changes(/\/health$/, withHeader('date', () => new Date(Date.now() + 60_000).toUTCString())),
    /\d\d\.\d s ahead/,
  ],
  [
    'preflights allow no other origin',
    'cors',
    changes(/^OPTIONS/, withHeader('access-control-allow-origin', 'https://other.example')),
    /another origin/,
  ],
  [
    'preflights do not allow PATCH',
    'cors',
    changes(/^OPTIONS/, withHeader('access-control-allow-methods', 'GET, POST')),
    /PATCH/,
  ],
  [
    'preflights do not allow a header',
    'cors',
    changes(/^OPTIONS/, withHeader('access-control-allow-headers', 'apikey, authorization, content-type')),
    /idempotency-key, x-client-info/,
  ],
  [
    'answers cannot be read by other origins',
    'cors',
    changes(/^GET .*interests/, withHeader('access-control-allow-origin', null)),
    /answers of the Data API/,
  ],
  ['health is 503', 'health', answers(/\/health$/, json(503, { status: 'unavailable' })), /^FAIL 503/],
  ['health is something else', 'health', answers(/\/health$/, json(200, { status: 'ok' })), /^FAIL 200/],
  ['two releases', 'releases', changes(/users\/openapi/, withHeader('x-release', '0.9.0+a')), /users: 0\.9\.0\+a/],
  ['no release', 'releases', changes(/openapi/, withHeader('x-release', null)), /report no release/],
  [
    'a function is missing',
    'releases',
    answers(/embed\/openapi/, json(404, { code: 'NOT_FOUND' })),
    /embed answers 404/,
  ],
  ['an unknown route is 500', 'errors', answers(/no\/such\/route/, json(500, { error: 'x' })), /unknown route/],
  [
    'an unknown route tells more',
    'errors',
    answers(/no\/such\/route/, json(404, { error: 'x', stack: 'at file:' })),
    /more than an error/,
  ],
  ['no request id', 'errors', changes(/no\/such\/route/, withHeader('x-request-id', null)), /X-Request-Id/],
  ['a wrong method is 200', 'errors', answers(/^PUT/, json(200, {})), /wrong method/],
  ['no token is needed', 'tokens', answers(/users\/me/, json(200, {})), /no token/],
  [
    'a token with a published secret is accepted',
    'tokens',
    answers(/users\/me/, ({ headers }) => /\.\S+\.\S+/.test(headers.get('Authorization') ?? '') ? json(200, {}) : null),
    /published secret/,
  ],
  [
    'an unsigned token is accepted',
    'tokens',
    answers(/users\/me/, ({ headers }) => /\.$/.test(headers.get('Authorization') ?? '') ? json(200, {}) : null),
    /unsigned/,
  ],
  [
    'short passwords are accepted',
    'sign-up',
    answers(/signup/, ({ body }) => body.includes('7 chars') ? json(201, {}) : null),
    /password of 7/,
  ],
  ['anybody reads the metrics', 'secret routes', answers(/health\/metrics/, json(200, {})), /no key/],
  [
    'the publishable key runs embed',
    'secret routes',
    answers(/^POST .*embed/, ({ key }) => key === testKeys.publishableKey ? json(200, { made: 0 }) : null),
    /POST \/embed with the publishable key/,
  ],
  ['another publishable key', 'publishable key', answers(/rest\/v1/, json(401, { message: 'Invalid API key' })), /401/],
  ['no interests', 'publishable key', answers(/rest\/v1/, json(200, [])), /--include-seed/],
  ['no key is needed', 'other keys', answers(/rest\/v1/, ({ key }) => key ? null : json(200, [])), /no key/],
  [
    'any secret key is accepted',
    'other keys',
    answers(/rest\/v1/, ({ key }) => key?.startsWith('sb_secret') ? json(200, []) : null),
    /another secret key/,
  ],
  [
    'a key with a published secret is accepted',
    'other keys',
    answers(/rest\/v1/, ({ key }) => /\.\S+\.\S+/.test(key ?? '') ? json(200, []) : null),
    /published secret/,
  ],
  [
    'the functions have another secret key',
    'secret key',
    answers(/metrics/, json(401, { error: 'The secret key is needed' })),
    /the functions answer 401/,
  ],
  [
    'the Data API has another secret key',
    'secret key',
    answers(/rest\/v1\/users/, json(401, { message: 'Invalid API key' })),
    /the Data API answers 401/,
  ],
  [
    'anonymous sign-ins are on',
    'auth settings',
    changes(/auth\/v1\/settings/, ({ body }) => ({
      body: JSON.stringify({ ...JSON.parse(body), external: { email: true, anonymous_users: true } }),
    })),
    /anonymous/,
  ],
  [
    'sign-ups are off',
    'auth settings',
    changes(/auth\/v1\/settings/, ({ body }) => ({
      body: JSON.stringify({ ...JSON.parse(body), disable_signup: true }),
    })),
    /sign-ups are off/,
  ],
  [
    'a table without row level security',
    'table users',
    answers(/^GET .*\/users\?/, json(200, [{ id: 1, email: 'ana@example.com' }])),
    /can read rows/,
  ],
  [
    'an empty table that anybody may read',
    'table messages',
    answers(/^GET .*\/messages\?/, json(200, [])),
    /can read, /,
  ],
  ['anybody may insert', 'table profiles', answers(/^POST .*\/profiles/, missingColumn), /can insert/],
  ['anybody may update', 'table conversations', answers(/^PATCH/, { status: 204, body: '' }), /can update/],
  ['anybody may delete', 'table reservations', answers(/^DELETE/, { status: 204, body: '' }), /can delete/],
  ['anybody may add interests', 'table interests', answers(/^POST/, missingColumn), /can insert/],
  [
    'a table is missing',
    'table profile_interests',
    answers(/rest\/v1/, json(404, { code: 'PGRST205' })),
    /push the migrations/,
  ],
  ['another table with rows', 'other tables', {
    http: (asked, forward) =>
      asked.method === 'GET' && asked.path.startsWith('/rest/v1/notes')
        ? json(200, [{ id: 1, text: 'private' }])
        : openApi('notes')!(asked, forward),
  }, /notes: without a token one can read rows/],
  ['an API function is exposed', 'functions', answers(/rpc\/export_me$/, json(200, {})), /can call export_me \(200/],
  [
    'an API function with parameters is exposed',
    'functions',
    answers(
      /rpc\/send_message$/,
      json(404, { code: 'PGRST202', hint: 'Perhaps you meant to call the function public.send_message(draft)' }),
    ),
    /can call send_message \(404/,
  ],
  [
    'an API function is exposed and fails',
    'functions',
    answers(
      /rpc\/erase_me$/,
      json(405, { code: '25006', message: 'cannot execute DELETE in a read-only transaction' }),
    ),
    /can call erase_me \(405/,
  ],
  ['anybody may call another function', 'functions', withFunction('ban', json(200, null)), /can call ban \(200/],
  [
    'anybody may call another function, which refuses the value',
    'functions',
    withFunction('ban', json(400, { code: '22P02' })),
    /can call ban \(400/,
  ],
  ['the tables are listed', 'list of tables', answers(/rest\/v1\/$/, json(200, { paths: {} })), /lists its tables/],
  [
    'an exposed schema',
    'schemas',
    answers(
      /rest\/v1/,
      ({ headers }) => headers.get('Accept-Profile') === 'private' ? json(404, { code: 'PGRST205' }) : null,
    ),
    /exposed: private/,
  ],
  [
    'GraphQL shows users',
    'graphql',
    answers(/graphql/, json(200, { data: { __type: { fields: [{ name: 'node' }, { name: 'usersCollection' }] } } })),
    /usersCollection/,
  ],
  ['GraphQL fails', 'graphql', answers(/graphql/, json(503, { message: 'unavailable' })), /503/],
  [
    'Realtime accepts any key',
    'realtime key',
    { realtimeKey: testKeys.publishableKey, ...joins('user:1') },
    /another key/,
  ],
  ['public channels are allowed', 'realtime public', joins('doctor'), /can be joined/],
  ['changes are sent on public channels', 'realtime changes', joins('doctor'), /can be joined/],
  ['changes are sent on unknown topics', 'realtime private changes', joins('doctor'), /can be joined/],
  ...['user:1', 'typing:1', 'conversation:1'].map((
    topic,
  ): (typeof faults)[number] => [`anybody joins ${topic}`, `realtime ${topic}`, joins(topic), /can be joined/]),
  ['Realtime has no policies', 'realtime user:1', {
    join: () => ({ status: 'error', response: { reason: 'PrivateOnly: This project only allows private channels' } }),
  }, /expected Unauthorized/],
  ['Realtime stays without a database', 'realtime user:1', {
    join: () => ({ status: 'error', response: { reason: 'InitializingProjectConnection: Connecting' } }),
  }, /Initializing/],
  ['attachments are public', 'storage', file('attachments', notFound), /may be public/],
  ['the avatars have no bucket', 'storage', file('avatars', noBucket), /not public/],
  ['attachments can be listed', 'storage', storage(/list/, json(200, [{ name: '1' }])), /can list/],
  ['an old queue', 'embedding queue', metric('embedding_queue_oldest_seconds', 4000), /schedule does not run/],
  ['dead letters', 'embedding queue', metric('embedding_queue_dead', 2), /2 dead/],
  ['no database', 'embedding queue', metric('database_up', 0), /does not answer/],
  [
    'a migration is missing',
    'migrations',
    metricLines((text) => text.replace(/^database_migration\{version="20261122000001"\}.*\n/m, '')),
    /lacks 20261122000001: push/,
  ],
  [
    'a migration of a newer release',
    'migrations',
    metricLines((text) => text.replace(/^database_migration\{/m, 'database_migration{version="20990101000000"} 1\n$&')),
    /has 20990101000000, which is not in this folder/,
  ],
  [
    'no migration is noted',
    'migrations',
    metricLines((text) => text.replaceAll(/^database_migration\{.*\n/gm, '')),
    /has noted none/,
  ],
  ['an index with hidden people', 'search index', metric('search_audit_findings', 3), /finding=.* 3/],
  [
    'a search without words',
    'vocabulary',
    changes(/GET .*\/users\/search/, ({ body }) => ({ body: body.replace(/"embedded": ?"[^"]*"/, '"embedded":""') })),
    /knows no words/,
  ],
  ['a failed audit', 'search index', metric('search_audit_failed', 1), /audit failed/],
]

test('a column that is called like a parameter of the Data API does not make it write every row', async () => {
  const writes: string[] = []
  const url = await openStandIn(origin, {
    http: ({ method, path, key }) => {
      if (path === '/rest/v1/' && key === testKeys.secretKey) {
        return json(200, { definitions: { notes: { properties: { order: {} }, required: ['order'] } } })
      }
      if (method === 'PATCH' || method === 'DELETE') writes.push(decodeURIComponent(path))
      return path.startsWith('/rest/v1/notes') ? json(200, []) : null
    },
  })
  await runDoctor(['--remote', url, '--only', 'other tables'])
  const path = '/rest/v1/notes?and=(order.is.null,order.not.is.null)'
  expect(writes).toEqual([path, path])
})

test('a function that people without a token may not call is ok', async () => {
  const asked: string[] = []
  const { http } = withFunction('ban', json(401, { code: '42501', message: 'permission denied for function ban' }))
  const url = await openStandIn(origin, {
    http: (request, forward) => {
      if (request.path.startsWith('/rest/v1/rpc/')) asked.push(`${request.method} ${request.key}`)
      return http!(request, forward)
    },
  })
  const { lines } = await runDoctor(['--remote', url, '--only', 'functions'])
  expect(lines.functions).toMatch(/^ok \d\d of the API are not reachable; ban: closed$/)
  // By GET, which cannot write, and as anybody may.
  expect(new Set(asked)).toEqual(new Set([`GET ${testKeys.publishableKey}`]))
  expect(asked.length).toBeGreaterThan(20)
})

test('frames of Realtime that are no JSON do not end it', async () => {
  const url = await openStandIn(origin, { noise: '<html>' })
  const { lines } = await runDoctor(['--remote', url, '--only', 'realtime user:1'])
  expect(lines['realtime user:1']).toMatch(/^ok/)
})

test.each(faults)('%s: %s fails', async (_, check, fault, detail) => {
  const url = await openStandIn(origin, fault)
  const { code, lines, output } = await runDoctor(['--remote', url, '--only', check, '--timeout', '5'])
  expect(lines[check], output).toMatch(/^FAIL /)
  expect(lines[check]).toMatch(detail)
  expect(code).toBe(1)
})
