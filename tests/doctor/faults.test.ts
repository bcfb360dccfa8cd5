// Each fault, and the check of `npm run doctor` that must fail because of it. doctor.test.ts has a project without one.
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
const accepts = (condition: (asked: Asked) => boolean): Answer => (asked) => condition(asked) ? Response.json([]) : null
const bearer = (pattern: RegExp) => accepts(({ headers }) => pattern.test(headers.get('Authorization') ?? ''))
const missingColumn = json(400, { code: '23502', message: 'null value in column "name"' })
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
  ['health', 'the database does not answer', on(/\/health$/, json(503, { status: 'unavailable' })), /health: 503/],
  ['health', 'something else answers', on(/\/health$/, json(200, { status: 'ok' })), /health: 200/],
  ['releases', 'there are two', release(/users\/openapi/, '0.9.0+a'), /users: 0\.9\.0\+a/],
  ['releases', 'there is none', on(/openapi/, json(200, {})), /report no release/],
  ['releases', 'a function is missing', on(/embed\/openapi/, json(404, { code: 'NOT_FOUND' })), /embed: 404/],
  ['tokens', 'none is needed', on(/users\/me/, json(200, {})), /no token: 200/],
  ['tokens', 'a published secret signs them', on(/users\/me/, bearer(/\.\S+\.\S+/)), /published secret: 200/],
  ['tokens', 'they need no signature', on(/users\/me/, bearer(/\.$/)), /unsigned token: 200/],
  ['secret routes', 'anybody reads the metrics', on(/health\/metrics/, json(200, {})), /metrics without a key: 200/],
  ['secret routes', 'the publishable key runs embed',
    on(/^POST .*embed/, accepts(({ key }) => key === testKeys.publishableKey)), /embed with the publishable key: 200/],
  ['publishable key', 'it is another', on(/rest\/v1/, wrongKey), /401/],
  ['publishable key', 'there are no interests', on(/rest\/v1/, json(200, [])), /--include-seed/],
  ['other keys', 'none is needed', on(/rest\/v1/, accepts(({ key }) => !key)), /no key: 200/],
  ['other keys', 'any is accepted', on(/rest\/v1/, accepts(({ key }) => /^sb_secret/.test(key!))), /secret key: 200/],
  ['other keys', 'a published secret signs them', on(/rest\/v1/, bearer(/\.\S+\.\S+/)), /published secret: 200/],
  ['secret key', 'the functions have another', on(/metrics/, wrongKey), /the functions: 401/],
  ['secret key', 'the Data API has another', on(/rest\/v1\/users/, wrongKey), /the Data API: 401/],
  ['auth settings', 'anonymous sign-ins are on', settings({ external: { email: 1, anonymous_users: 1 } }), /anonymous/],
  ['auth settings', 'sign-ups are off', settings({ disable_signup: true }), /sign-ups are off/],
  ['table users', 'it has no row level security', on(/^GET .*\/users\?/, json(200, [{ id: 1 }])), /200 with 1 rows$/],
  ['table messages', 'anybody may read no row', on(/^GET .*\/messages\?/, json(200, [])), /token: 200 with 0 rows$/],
  ['table profiles', 'anybody may insert', on(/^POST .*\/profiles/, missingColumn), /inserting: 400/],
  ['table conversations', 'anybody may update', on(/^PATCH/, empty), /updating: 204/],
  ['table reservations', 'anybody may delete', on(/^DELETE/, empty), /deleting: 204/],
  ['table interests', 'anybody may insert', on(/^POST/, missingColumn), /inserting: 400/],
  ['table profile_interests', 'it is missing', on(/rest\/v1/, json(404, { code: 'PGRST205' })), /PGRST205/],
  ['functions', 'anybody may call one', on(/rpc\/describe_queues/, json(200, [])), /describe_queues: 200/],
  ['functions', 'anybody may call one that refuses', on(/rpc\/erase_person\?note=0&person=0$/,
    json(405, { code: '25006', message: 'cannot execute DELETE in a read-only transaction' })), /erase_person: 405/],
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
  'write: own rows fails if %s of others are visible',
  async (table) => {
    const answer: Answer = async ({ path, headers }, forward) =>
      path.startsWith(`/rest/v1/${table}?`) && headers.has('Authorization')
        ? Response.json([...await (await forward()).json(), { id: 0 }])
        : null
    const { 'write: own rows': line } = await diagnose(origin, 'write', { answer })
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
let joins = 0
const checks = ['key', 'public', 'private']
// deno-fmt-ignore
test.each<[check: string, fault: string, join: () => Reply, line: RegExp]>([
  ...checks.map((name): [string, string, () => Reply, RegExp] => [name, 'lets anybody join', isJoined, /^FAIL .*: ok/]),
  ['private', 'has no policies', isRefused('PrivateOnly: only private channels'), /^FAIL .*PrivateOnly/],
  ['private', 'stays without a database', connecting, /^FAIL .*Initializing/],
  ['private', 'is connecting to its database', () => joins++ ? unauthorized() : connecting(), /^ok refused: Unauth/],
  ['private', 'sends what is no JSON', unauthorized, /^ok refused: Unauthorized/],
])('realtime %s of a Realtime that %s', async (name, _, join, line) => {
  // It waits for a fifth of the time between two attempts.
  const { [`realtime ${name}`]: found } = await diagnose(origin, `realtime ${name}`, {
    url: await openRealtime(join, '<html>'),
    milliseconds: 2000,
  })
  expect(found).toMatch(line)
})
