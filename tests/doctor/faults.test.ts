// Each fault, and the check of `npm run doctor` that must fail because of it. doctor.test.ts has a project without one.
import { expect, inject, test } from 'vitest'
import { storageRefusals } from '../tools/storage_answers.ts'
import { type Answer, type Asked, diagnose, isJoined, isRefused, openRealtime, type Reply } from './harness.ts'

const { origin } = inject('stack')

/** Answers these requests, for which "METHOD path" matches. */
const on = (pattern: RegExp, answer: Answer): Answer => (asked, forward) =>
  pattern.test(`${asked.method} ${asked.path}`) ? answer(asked, forward) : null
const json = (status: number, body: unknown) => () => Response.json(body, { status })
/** Accepts these, and no others. */
const accepts = (condition: (asked: Asked) => boolean): Answer => (asked) => condition(asked) ? Response.json([]) : null
const bearer = (pattern: RegExp) => accepts(({ headers }) => pattern.test(headers.get('Authorization') ?? ''))
const wrongKey = json(401, { message: 'Invalid API key' })

const changes = (pattern: RegExp, change: (body: string) => string): Answer =>
  on(pattern, async (_, forward) => {
    const answer = await forward()
    return new Response(change(await answer.text()), answer)
  })
const metrics = (pattern: RegExp, text: string) =>
  changes(/GET .*\/health\/metrics/, (body) => body.replaceAll(pattern, text))
const metric = (name: string, value: number) =>
  metrics(new RegExp(`^(${name}(?:\\{\\S*\\})?) \\S+$`, 'gm'), `$1 ${value}`)
const settings = (fields: object) =>
  changes(/auth\/v1\/settings/, (body) => JSON.stringify({ ...JSON.parse(body), ...fields }))
const release = (pattern: RegExp, name: string): Answer =>
  on(
    pattern,
    async (_, forward) => new Response(null, { status: (await forward()).status, headers: { 'X-Release': name } }),
  )

/** A Storage as it should be, but for one answer. */
const storage = (fault: RegExp, status: number, body: unknown): Answer => (asked, forward) =>
  on(fault, json(status, body))(asked, forward) ??
    on(/public\/attachments/, json(400, storageRefusals.noBucket.body))(asked, forward) ??
    on(/public\/avatars/, json(400, storageRefusals.notFound.body))(asked, forward) ??
    on(/list\/attachments/, json(200, []))(asked, forward)
const migration = /^database_migration\{version="20261122000001".*\n/gm

// deno-fmt-ignore
test.each<[check: string, fault: string, made: Answer, detail: RegExp]>([
  ['health', 'the database does not answer', on(/\/health$/, json(503, { status: 'unavailable' })), /: 503/],
  ['health', 'something else answers', on(/\/health$/, json(200, { status: 'ok' })), /: 200/],
  ['releases', 'there are two', release(/users\/openapi/, '0.9.0+a'), /users: 0\.9\.0\+a/],
  ['releases', 'there is none', on(/openapi/, json(200, {})), /report no release/],
  ['releases', 'a function is missing', on(/embed\/openapi/, json(404, { code: 'NOT_FOUND' })), /embed: 404/],
  ['tokens', 'none is needed', on(/users\/me/, json(200, {})), /no token: 200/],
  ['tokens', 'a published secret signs them', on(/users\/me/, bearer(/\.\S+\.\S+/)), /secret, by the functions: 200/],
  ['tokens', 'they need no signature', on(/users\/me/, bearer(/\.$/)), /unsigned token, by the functions: 200/],
  ['tokens', 'the Data API knows one', on(/rest\/v1/, bearer(/\.\S+\.\S+/)), /secret, by the Data API: 200/],
  ['keys', 'the publishable one is another', on(/rest\/v1\/int/, wrongKey), /publishable key: 401/],
  ['keys', 'there are no interests', on(/rest\/v1/, json(200, [])), /--include-seed/],
  ['keys', 'the functions have another', on(/metrics/, wrongKey), /the functions: 401/],
  ['keys', 'the Data API has another', on(/rest\/v1\/users/, wrongKey), /secret key: 401/],
  ['auth settings', 'anonymous sign-ins are on', settings({ external: { email: 1, anonymous_users: 1 } }), /anonymous/],
  ['auth settings', 'sign-ups are off', settings({ disable_signup: true }), /sign-ups are off/],
  ['tables', 'one shows its rows', on(/^GET .*\/users\?/, json(200, [{ id: 1 }])), /users: 200 with 1 rows$/],
  ['tables', 'reports show their rows', on(/^GET .*\/reports\?/, json(200, [{ id: 1 }])), /reports: 200 with 1 rows$/],
  ['tables', 'anybody may read no row', on(/^GET .*\/messages\?/, json(200, [])), /messages: 200 with 0 rows$/],
  ['tables', 'one is missing', on(/rest\/v1/, json(404, { code: 'PGRST205' })), /PGRST205/],
  ['schemas', 'one is exposed',
    on(/rest\/v1/, accepts(({ headers }) => headers.get('Accept-Profile') === 'private')), /private: 200/],
  ['storage', 'attachments are public',
    storage(/public\/attachments\//, 400, storageRefusals.notFound.body), /may be public/],
  ['storage', 'avatars have no bucket', storage(/public\/avatars\//, 400, storageRefusals.noBucket.body), /not public/],
  ['storage', 'attachments can be listed', storage(/list/, 200, [{ name: '1' }]), /can list/],
  ['schedule', 'a job failed',
    on(/describe_schedule/, json(200, [{ job: 'send', last_status: 'failed', last_message: 'key' }])), /send: key/],
  ['embedding queue', 'it is old', metric('embedding_queue_oldest_seconds', 4000), /schedule does not run/],
  ['embedding queue', 'there are dead letters', metric('embedding_queue_dead', 2), /2 dead$/],
  ['embedding queue', 'there is no database', metric('database_up', 0), /does not answer/],
  ['offline model', 'there is none', changes(/search/, (body) => body.replaceAll('rhabdomancy', '')), /cannot read it/],
  ['migrations', 'one is missing', metrics(migration, ''), /lacks 20261122000001: push/],
  ['migrations', 'one is newer',
    metrics(/^database_migration\{/gm, 'database_migration{version="2099"} 1\n$&'), /has 2099,/],
  ['migrations', 'one had another text', metrics(/sha256="\w+"/g, 'sha256="0"'), /^FAIL 2[\d,]+ had another text/],
  ['migrations', 'the places are of another release', metrics(/md5="\w+"/g, 'md5="0"'), /npm run data/],
  ['migrations', 'no places are loaded', metrics(/^database_data\{.*\n/gm, ''), /npm run data/],
])('%s fails if %s', async (check, _, answer, detail) => {
  const { [check]: line } = await diagnose(origin, check, { answer })
  expect(line).toMatch(/^FAIL /)
  expect(line).toMatch(detail)
})

test.each('users profiles conversations messages profile_interests reservations reservation_history'.split(' '))(
  'write fails if %s of others are visible',
  async (table) => {
    const answer: Answer = async ({ path, headers }, forward) =>
      path.startsWith(`/rest/v1/${table}?`) && headers.has('Authorization')
        ? Response.json([...await (await forward()).json(), { id: 0 }])
        : null
    const { write: line } = await diagnose(origin, 'write', { answer })
    expect(line).toMatch(`FAIL ${table} shows others`)
  },
)

test.each([
  ['releases', 'the sources are deployed', /^FAIL not built/],
  ['auth settings', 'addresses are not confirmed', /^FAIL Confirm email is off/],
  ['schedule', 'there is no job', /^FAIL there is no job/],
])('on another machine %s fails if %s', async (check, _, line) => {
  expect((await diagnose(origin, check, { url: 'https://project.example' }))[check]).toMatch(line)
})

const unauthorized = isRefused('Unauthorized: You do not have permissions')
const connecting = isRefused('InitializingProjectConnection: Connecting')
const onlyPrivate = isRefused('PrivateOnly: only private channels')
let joins = 0
// deno-fmt-ignore
test.each<[fault: string, join: (isPrivate: boolean) => Reply, line: RegExp]>([
  ['lets anybody join', isJoined, /^FAIL a public channel: ok.*; a private one without a token: ok/],
  ['has public channels', (isPrivate) => isPrivate ? unauthorized() : isJoined(), /^FAIL a public channel: ok[^;]*$/],
  ['has no policies', onlyPrivate, /^FAIL a private .*PrivateOnly/],
  ['stays without a database', connecting, /^FAIL .*Initializing/],
  ['is connecting to its database, and sends what is no JSON',
    (isPrivate) => !isPrivate ? onlyPrivate() : joins++ ? unauthorized() : connecting(), /^ok /],
])('realtime of a Realtime that %s', async (_, join, line) => {
  // It waits for a fifth of the time between two attempts.
  const { realtime } = await diagnose(origin, 'realtime', {
    url: await openRealtime((_, isPrivate) => join(isPrivate), '<html>'),
    milliseconds: 2000,
  })
  expect(realtime).toMatch(line)
})
