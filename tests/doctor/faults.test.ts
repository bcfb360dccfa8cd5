// Each check of `npm run doctor` against a project in which that fault is made. doctor.test.ts has the one without.
import { expect, inject, test } from 'vitest'
import { testKeys } from '../tools/stack.ts'
import { storageRefusals } from '../tools/storage_answers.ts'
import { type Answer, type Asked, diagnose, isJoined, isRefused, openRealtime, type Reply } from './harness.ts'

const { origin } = inject('stack')

/** Answers these requests, for which "METHOD path" matches. */
const on = (pattern: RegExp, answer: Answer): Answer => (asked, forward) =>
  pattern.test(`${asked.method} ${asked.path}`) ? answer(asked, forward) : null
const json = (status: number, body: unknown) => () => Response.json(body, { status })
const empty = () => new Response(null, { status: 204 })
/** Accepts these, and no others. */
const accepts = (condition: (asked: Asked) => boolean, body: unknown = {}, status = 200): Answer => (asked) =>
  condition(asked) ? Response.json(body, { status }) : null
const bearer = (pattern: RegExp) => accepts(({ headers }) => pattern.test(headers.get('Authorization') ?? ''))
const missingColumn = json(400, { code: '23502', message: 'null value in column "name"' })
const wrongKey = json(401, { message: 'Invalid API key' })

/** Changes the body of the project's own answer. */
const changes = (pattern: RegExp, change: (body: string) => string): Answer =>
  on(pattern, async (_, forward) => {
    const answer = await forward()
    return new Response(change(await answer.text()), answer)
  })
const metrics = (change: (text: string) => string): Answer => changes(/GET .*\/health\/metrics/, change)
const metric = (name: string, value: number): Answer =>
  metrics((text) => text.replace(new RegExp(`^(${name}(?:\\{\\S*\\})?) \\S+$`, 'm'), `$1 ${value}`))
const settings = (fields: object): Answer =>
  changes(/auth\/v1\/settings/, (body) => JSON.stringify({ ...JSON.parse(body), ...fields }))
/** Sets a header of the project's own answer, or removes it. */
const header = (pattern: RegExp, name: string, value: string | null): Answer =>
  on(pattern, async (_, forward) => {
    const answer = await forward()
    const changed = new Response(await answer.text() || null, answer)
    if (value === null) changed.headers.delete(name)
    else changed.headers.set(name, value)
    return changed
  })
const date = (seconds: number): Answer => (asked, forward) =>
  header(/\/health$/, 'date', new Date(Date.now() + seconds * 1000).toUTCString())(asked, forward)

/** The first of these that answers. */
const first = (...all: Answer[]): Answer => async (asked, forward) => {
  for (const answer of all) {
    const response = await answer(asked, forward)
    if (response) return response
  }
  return null
}
/** A Storage as it should be, but for one answer. */
const storage = (fault: Answer): Answer =>
  first(
    fault,
    on(/info\/public\/attachments/, json(400, storageRefusals.noBucket.body)),
    on(/info\/public\/avatars/, json(400, storageRefusals.notFound.body)),
    on(/list\/attachments/, json(200, [])),
  )
/** A project in which somebody created this beside the migrations, as the Data API lists it for the secret key. */
const withOwn = (listed: object, answer: Answer): Answer => {
  const isList = ({ path, key }: Asked) => path === '/rest/v1/' && key === testKeys.secretKey
  return first(accepts(isList, listed), answer)
}
const parameters = [{ in: 'query', name: 'person' }, { in: 'header', name: 'Prefer' }]
const ban = { definitions: {}, paths: { '/': {}, '/users': {}, '/rpc/ban': { get: { parameters } } } }
/** PostgREST does not find a function by other parameters. */
const withBan = (answer: Answer) => withOwn(ban, on(/rpc\/ban\?person=$/, answer))
const notes = { definitions: { notes: { properties: { id: {}, text: {} }, required: ['text'] } } }
const closedNotes = on(/(POST|PATCH|DELETE) .*\/notes/, json(401, { code: '42501' }))
const hidden = { code: 'PGRST202', hint: 'Perhaps you meant to call the function public.send_message(draft)' }
const readOnly = { code: '25006', message: 'cannot execute DELETE in a read-only transaction' }
const fields = [{ name: 'node' }, { name: 'usersCollection' }]
const isPrivate = ({ headers }: Asked) => headers.get('Accept-Profile') === 'private'

// deno-fmt-ignore
const faults: [fault: string, check: string, made: Answer, detail: RegExp][] = [
  ['the clock is a minute behind', 'clock', date(-60), /(59|6\d)\.\d s behind/],
  ['the clock is a minute ahead', 'clock', date(60), /\d\d\.\d s ahead/],
  ['preflights allow no other origin', 'cors',
    header(/^OPTIONS/, 'access-control-allow-origin', 'https://other.example'), /another origin/],
  ['preflights do not allow PATCH', 'cors', header(/^OPTIONS/, 'access-control-allow-methods', 'GET, POST'), /PATCH/],
  ['preflights do not allow a header', 'cors',
    header(/^OPTIONS/, 'access-control-allow-headers', 'apikey, authorization, content-type'),
    /idempotency-key, x-client-info/],
  ['answers cannot be read by other origins', 'cors', header(/^GET .*interests/, 'access-control-allow-origin', null),
    /answers of the Data API/],
  ['health is 503', 'health', on(/\/health$/, json(503, { status: 'unavailable' })), /^FAIL 503/],
  ['health is something else', 'health', on(/\/health$/, json(200, { status: 'ok' })), /^FAIL 200/],
  ['two releases', 'releases', header(/users\/openapi/, 'x-release', '0.9.0+a'), /users: 0\.9\.0\+a/],
  ['no release', 'releases', header(/openapi/, 'x-release', null), /report no release/],
  ['a function is missing', 'releases', on(/embed\/openapi/, json(404, { code: 'NOT_FOUND' })), /embed answers 404/],
  ['an unknown route is 500', 'errors', on(/no\/such\/route/, json(500, { error: 'x' })), /unknown route/],
  ['an unknown route tells more', 'errors', on(/no\/such\/route/, json(404, { error: 'x', stack: 'at file:' })),
    /more than an error/],
  ['no request id', 'errors', header(/no\/such\/route/, 'x-request-id', null), /X-Request-Id/],
  ['a wrong method is 200', 'errors', on(/^PUT/, json(200, {})), /wrong method/],
  ['no token is needed', 'tokens', on(/users\/me/, json(200, {})), /no token/],
  ['a token with a published secret is accepted', 'tokens', on(/users\/me/, bearer(/\.\S+\.\S+/)), /published secret/],
  ['an unsigned token is accepted', 'tokens', on(/users\/me/, bearer(/\.$/)), /unsigned/],
  ['short passwords are accepted', 'sign-up',
    on(/signup/, accepts(({ body }) => body.includes('7 chars'), {}, 201)), /password of 7/],
  ['anybody reads the metrics', 'secret routes', on(/health\/metrics/, json(200, {})), /no key/],
  ['the publishable key runs embed', 'secret routes',
    on(/^POST .*embed/, accepts(({ key }) => key === testKeys.publishableKey)),
    /POST \/embed with the publishable key/],
  ['another publishable key', 'publishable key', on(/rest\/v1/, wrongKey), /401/],
  ['no interests', 'publishable key', on(/rest\/v1/, json(200, [])), /--include-seed/],
  ['no key is needed', 'other keys', on(/rest\/v1/, accepts(({ key }) => !key, [])), /no key/],
  ['any secret key is accepted', 'other keys',
    on(/rest\/v1/, accepts(({ key }) => /^sb_secret/.test(key ?? ''), [])), /another secret key/],
  ['a key with a published secret is accepted', 'other keys',
    on(/rest\/v1/, accepts(({ key }) => /\.\S+\.\S+/.test(key ?? ''), [])), /published secret/],
  ['the functions have another secret key', 'secret key', on(/metrics/, wrongKey), /the functions answer 401/],
  ['the Data API has another secret key', 'secret key', on(/rest\/v1\/users/, wrongKey), /the Data API answers 401/],
  ['anonymous sign-ins are on', 'auth settings', settings({ external: { email: true, anonymous_users: true } }),
    /anonymous/],
  ['sign-ups are off', 'auth settings', settings({ disable_signup: true }), /sign-ups are off/],
  ['a table without row level security', 'table users',
    on(/^GET .*\/users\?/, json(200, [{ id: 1, email: 'ana@example.com' }])), /can read rows/],
  ['an empty table that anybody may read', 'table messages', on(/^GET .*\/messages\?/, json(200, [])), /can read, /],
  ['anybody may insert', 'table profiles', on(/^POST .*\/profiles/, missingColumn), /can insert/],
  ['anybody may update', 'table conversations', on(/^PATCH/, empty), /can update/],
  ['anybody may delete', 'table reservations', on(/^DELETE/, empty), /can delete/],
  ['anybody may add interests', 'table interests', on(/^POST/, missingColumn), /can insert/],
  ['a table is missing', 'table profile_interests', on(/rest\/v1/, json(404, { code: 'PGRST205' })),
    /push the migrations/],
  ['another table with rows', 'other tables',
    withOwn(notes, first(on(/^GET .*\/notes/, json(200, [{ id: 1, text: 'private' }])), closedNotes)),
    /notes: without a token one can read rows/],
  ['an API function is exposed', 'functions', on(/rpc\/export_me$/, json(200, {})), /can call export_me \(200/],
  ['an API function with parameters is exposed', 'functions', on(/rpc\/send_message$/, json(404, hidden)),
    /can call send_message \(404/],
  ['an API function is exposed and fails', 'functions', on(/rpc\/erase_me$/, json(405, readOnly)),
    /can call erase_me \(405/],
  ['anybody may call another function', 'functions', withBan(json(200, null)), /can call ban \(200/],
  ['anybody may call another function, which refuses the value', 'functions', withBan(json(400, { code: '22P02' })),
    /can call ban \(400/],
  ['the tables are listed', 'list of tables', on(/rest\/v1\/$/, json(200, { paths: {} })), /lists its tables/],
  ['an exposed schema', 'schemas', on(/rest\/v1/, accepts(isPrivate, { code: 'PGRST205' }, 404)), /exposed: private/],
  ['GraphQL shows users', 'graphql', on(/graphql/, json(200, { data: { __type: { fields } } })), /usersCollection/],
  ['GraphQL fails', 'graphql', on(/graphql/, json(503, { message: 'unavailable' })), /503/],
  ['attachments are public', 'storage',
    storage(on(/info\/public\/attachments\//, json(400, storageRefusals.notFound.body))), /may be public/],
  ['the avatars have no bucket', 'storage',
    storage(on(/info\/public\/avatars\//, json(400, storageRefusals.noBucket.body))), /not public/],
  ['attachments can be listed', 'storage', storage(on(/list/, json(200, [{ name: '1' }]))), /can list/],
  ['an old queue', 'embedding queue', metric('embedding_queue_oldest_seconds', 4000), /schedule does not run/],
  ['dead letters', 'embedding queue', metric('embedding_queue_dead', 2), /2 dead/],
  ['no database', 'embedding queue', metric('database_up', 0), /does not answer/],
  ['a migration is missing', 'migrations',
    metrics((text) => text.replace(/^database_migration\{version="20261122000001".*\n/m, '')),
    /lacks 20261122000001: push/],
  ['a migration of a newer release', 'migrations',
    metrics((text) => text.replace(/^database_migration\{/m, '$&version="20990101000000",sha256=""} 1\n$&')),
    /has 20990101000000, which is not in this folder/],
  ['a migration had another text', 'migrations',
    metrics((text) => text.replace(/^(database_migration\{version="20261122000001",sha256=")\w+/m, '$10')),
    /20261122000001 had another text when it was pushed/],
  ['no migration is noted', 'migrations', metrics((text) => text.replaceAll(/^database_migration\{.*\n/gm, '')),
    /has noted none/],
  ['an index with hidden people', 'search index', metric('search_audit_findings', 3), /finding=.* 3/],
  ['a failed audit', 'search index', metric('search_audit_failed', 1), /audit failed/],
  ['a search without words', 'vocabulary',
    changes(/GET .*\/users\/search/, (body) => body.replace(/"embedded": ?"[^"]*"/, '"embedded":""')),
    /knows no words/],
]
test.each(faults)('%s: %s fails', async (_, check, answer, detail) => {
  const { [check]: line } = await diagnose(origin, check, { answer })
  expect(line).toMatch(/^FAIL /)
  expect(line).toMatch(detail)
})

// deno-fmt-ignore
test.each<[fault: string, check: string, made: Answer, detail: RegExp]>([
  ['it does not last', 'hsts', header(/health/, 'strict-transport-security', 'max-age=600'), /^FAIL .*180 days/],
  ['there is none', 'hsts', header(/health/, 'strict-transport-security', null), /^FAIL .*180 days/],
  ['it lasts', 'hsts', header(/health/, 'strict-transport-security', 'max-age=31536000'), /^ok max-age=31536000/],
  ['answers come without TLS', 'plain http', on(/health/, json(200, {})), /^FAIL answers 200 without TLS$/],
  ['it redirects', 'plain http', () => Response.redirect('https://a/'), /^ok redirects to https$/],
  ['it redirects to itself', 'plain http', () => Response.redirect('http://a/'), /^FAIL answers 302 without TLS$/],
  ['the sources are deployed', 'releases', () => null, /^FAIL not built/],
  ['addresses are not confirmed', 'auth settings', () => null, /^FAIL Confirm email is off/],
])('on another machine, if %s: %s', async (_, check, answer, line) => {
  expect((await diagnose(origin, check, { answer, url: 'https://project.example' }))[check]).toMatch(line)
})

const unauthorized = isRefused('Unauthorized: You do not have permissions')
const connecting = isRefused('InitializingProjectConnection: Connecting')
const privateOnly = isRefused('PrivateOnly: This project only allows private channels')
let joins = 0
const checks = ['key', 'public', 'changes', 'private changes', 'user:1', 'typing:1', 'conversation:1']
// deno-fmt-ignore
test.each<[what: string, check: string, join: () => Reply, line: RegExp]>([
  ...checks.map((name): [string, string, () => Reply, RegExp] =>
    ['lets anybody join', name, isJoined, name === 'key' ? /^FAIL another key can/ : /^FAIL .* can be joined/]),
  ['has no policies', 'user:1', privateOnly, /^FAIL expected Unauthorized/],
  ['stays without a database', 'user:1', connecting, /^FAIL .*Initializing/],
  ['is connecting to its database', 'user:1', () => joins++ ? unauthorized() : connecting(), /^ok refused: Unauth/],
  ['sends what is no JSON', 'typing:1', unauthorized, /^ok refused: Unauthorized/],
])('a Realtime that %s: %s', async (_, name, join, line) => {
  const url = await openRealtime(join, '<html>')
  // It waits for a fifth of the time between two attempts.
  const lines = await diagnose(origin, `realtime ${name}`, { url, milliseconds: 2000 })
  expect(lines[`realtime ${name}`]).toMatch(line)
})

test('a column that is called like a parameter of the Data API does not make it write every row', async () => {
  const writes: string[] = []
  const listed = { definitions: { notes: { properties: { order: {} }, required: ['order'] } } }
  const answer = withOwn(listed, ({ method, path }) => {
    if (method === 'PATCH' || method === 'DELETE') writes.push(decodeURIComponent(path))
    return path.startsWith('/rest/v1/notes') ? Response.json([]) : null
  })
  await diagnose(origin, 'other tables', { answer })
  const path = '/rest/v1/notes?and=(order.is.null,order.not.is.null)'
  expect(writes).toEqual([path, path])
})

test('a function that people without a token may not call is ok', async () => {
  const asked: string[] = []
  const closed = withBan(json(401, { code: '42501', message: 'permission denied for function ban' }))
  const answer: Answer = (request, forward) => {
    if (request.path.startsWith('/rest/v1/rpc/')) asked.push(`${request.method} ${request.key}`)
    return closed(request, forward)
  }
  const { functions } = await diagnose(origin, 'functions', { answer })
  expect(functions).toMatch(/^ok \d\d of the API are not reachable; ban: closed$/)
  // By GET, which cannot write, and as anybody may.
  expect(new Set(asked)).toEqual(new Set([`GET ${testKeys.publishableKey}`]))
  expect(asked.length).toBeGreaterThan(20)
})
