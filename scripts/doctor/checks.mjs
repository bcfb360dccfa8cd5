/**
 * Every check of a project but those of --write, a row each:
 * - `needs`: without this key it is skipped.
 * - `ask`: what it sends, one after the other, by what one calls it.
 * - `right`: whether one of the answers is as it should be; 200 if nothing else is said.
 * - `wrong`: what else may be wrong, and whether it is.
 * - `say`: what it has found if nothing is.
 */
import { fail } from './outcome.mjs'
import { describeAnswer, forgedTokens, joinChannel } from './project.mjs'
import { data, edgeFunctions, functions, migrations, tables } from './release.mjs'

const call = (path, options) => (project) => project.call(path, options)
const query = (path, options) => (project) => project.query(path, options)
const send = (path, options) => (project) => project.send(path, { as: 'publishableKey', ...options })
/** One request for each of these values, by its name. */
const askEach = (values, request) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, request(value, name)]))
const isRefused = ({ status }) => status === 401 || status === 403

const interests = 'interests?select=id&limit=1'
const otherKeys = { 'no key': null, 'another publishable key': 'sb_publishable_x', 'another secret key': 'sb_secret_x' }
const forgedKeys = forgedTokens('service_role')

/** The metrics, by name and labels. */
const metrics = async (project) => {
  const answer = await project.call('/health/metrics', { as: 'secretKey' })
  const lines = answer.text.matchAll(/^(\w+(?:\{\S*\})?) (\S+)$/gm)
  const values = Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]))
  if (answer.status === 200 && values.database_up !== 1) fail('the database does not answer')
  return { ...answer, values }
}
const versions = [...migrations.keys()]

/** Everybody may read these. */
const publicTables = ['interests']
// 55000: a view of several tables cannot be written by anybody, and that is said before rights are checked.
const hasNoRight = (answer) => isRefused(answer) && answer.body?.code === '42501' || answer.body?.code === '55000'
/** No write changes anything if it is allowed: no row matches the filter, and the one to insert lacks a column. */
const tableCheck = ({ name, column, required }) => {
  const nowhere = `${name}?and=(${column}.is.null,${column}.not.is.null)`
  const isPublic = publicTables.includes(name)
  return {
    name: `table ${name}`,
    ask: {
      'reading without a token': query(`${name}?select=*&limit=1`),
      updating: query(nowhere, { method: 'PATCH', json: { [column]: null } }),
      deleting: query(nowhere, { method: 'DELETE' }),
      ...(required && { inserting: query(name, { method: 'POST', json: { [required]: null } }) }),
    },
    right: (answer, what) => isPublic && /^reading/.test(what) ? answer.status === 200 : hasNoRight(answer),
    say: isPublic ? 'reads are public, writes refused' : 'reads and writes without a token are refused',
  }
}

// After a pause Realtime answers some joins with an error of its own until it has connected to the database.
const attempts = 4
const join = (topic, config) => async (project) => {
  for (let attempt = 1;; attempt++) {
    const reply = await joinChannel(project, topic, config)
    reply.close()
    if (reply.status !== 'error' || /^(PrivateOnly|Unauthorized)/.test(reply.text) || attempt === attempts) return reply
    await new Promise((resolve) => setTimeout(resolve, project.timeout / 5))
  }
}
const realtimeCheck = ([name, topic, code, config]) => ({
  name: `realtime ${name}`,
  ask: { [`joining ${topic} without a token`]: join(topic, config) },
  right: ({ status, text }) => status === 'error' && text.startsWith(code),
  say: ([{ text }]) => `refused: ${text}`,
})
const postgres_changes = [{ event: '*', schema: 'public', table: 'messages' }]

// Without `info` Storage looks for the bucket and the file at once, and answers what it finds first.
const file = (bucket) => send(`/storage/v1/object/public/${bucket}/doctor`)
const isUnknown = (what, { status, text }) =>
  status >= 400 && status < 500 && text.toLowerCase().includes(`${what} not found`)

export const checks = [
  {
    name: 'reachable',
    ask: { health: call('/health') },
    right: () => true,
    say: ([{ status }], { url }) => `${url.origin} answers ${status}`,
  },
  {
    name: 'health',
    ask: { health: call('/health') },
    right: ({ status, body }) =>
      status === 200 && body?.database === 'ok' && Number.isInteger(body.embeddings?.pending),
    say: ([{ body: { embeddings } }]) =>
      `database ok, embeddings by ${embeddings.provider}, ${embeddings.pending} pending`,
  },
  {
    // Each function reports the release that it was built from.
    name: 'releases',
    ask: Object.fromEntries(edgeFunctions.map((name) => [name, call(`/${name}/openapi.json`)])),
    wrong: (answers, { isLoopback }) => {
      const releases = answers.map(({ headers }) => headers.get('X-Release') ?? 'none')
      return {
        [edgeFunctions.map((name, i) => `${name}: ${releases[i]}`).join(', ')]: new Set(releases).size > 1,
        'the functions report no release: an older one, or not these functions': releases[0] === 'none',
        'not built: deploy with npm run deploy': releases[0] === 'development' && !isLoopback,
      }
    },
    say: ([{ headers }]) => `${edgeFunctions.join(', ')}: ${headers.get('X-Release')}`,
  },
  {
    name: 'tokens',
    ask: askEach({ 'no token': null, ...forgedTokens('authenticated') }, (token) => call('/users/me', { token })),
    right: ({ status }) => status === 401,
    say: 'none and forged ones are refused',
  },
  {
    name: 'secret routes',
    ask: {
      'metrics without a key': call('/health/metrics'),
      'metrics with the publishable key': call('/health/metrics', { as: 'publishableKey' }),
      'embed without a key': call('/embed', { method: 'POST' }),
      'embed with the publishable key': call('/embed', { method: 'POST', as: 'publishableKey' }),
    },
    right: ({ status }) => status === 401,
    say: 'metrics and embed need the secret key',
  },
  {
    name: 'publishable key',
    ask: { 'the Data API': query(interests) },
    wrong: ([{ body }]) => ({ 'no interests: run db push with --include-seed': !(body?.length > 0) }),
    say: 'accepted',
  },
  {
    name: 'other keys',
    ask: {
      ...askEach(otherKeys, (key) => query(interests, { key })),
      ...askEach(forgedKeys, (key) => query(interests, { key, token: key })),
    },
    right: isRefused,
    say: `${Object.keys({ ...otherKeys, ...forgedKeys }).join(', ')}: refused`,
  },
  {
    name: 'secret key',
    needs: 'secretKey',
    ask: { 'the Data API': query('users?select=id&limit=1', { as: 'secretKey' }), 'the functions': metrics },
    say: 'accepted by the Data API and the functions',
  },
  {
    name: 'auth settings',
    ask: { Auth: send('/auth/v1/settings') },
    right: ({ status, body }) => status === 200 && body?.external,
    wrong: ([{ body }], { isLoopback }) => ({
      'sign-ups are off': body.disable_signup,
      'the e-mail provider is off': !body.external.email,
      'anonymous sign-ins are on': body.external.anonymous_users,
      'Confirm email is off: anybody can claim any address': body.mailer_autoconfirm && !isLoopback,
    }),
    say: ([{ body }]) =>
      body.mailer_autoconfirm ? 'addresses are not confirmed, on this machine' : 'addresses are confirmed',
  },
  ...tables.map(tableCheck),
  {
    // By GET, which cannot write.
    name: 'functions',
    ask: askEach(
      functions,
      (parameters, name) => query(`rpc/${name}?${parameters.map((one) => `${one}=0`).join('&')}`),
    ),
    right: hasNoRight,
    say: `${Object.keys(functions).join(', ')}: refused`,
  },
  {
    name: 'schemas',
    ask: askEach({ api: 'api', private: 'private' }, (name) => query('users', { headers: { 'Accept-Profile': name } })),
    right: ({ status }) => status === 406,
    say: 'api and private are not exposed',
  },
  {
    name: 'realtime key',
    ask: { 'joining with another key': join('user:1', { private: true, key: 'sb_publishable_x' }) },
    right: ({ status }) => status === 'error' || isRefused({ status }),
    say: ([{ status, text }]) => `refused: ${status}, ${text}`,
  },
  ...[
    ['public', 'doctor', 'PrivateOnly', { private: false }],
    ['changes', 'doctor', 'PrivateOnly', { private: false, postgres_changes }],
    ['private changes', 'doctor', 'Unauthorized', { private: true, postgres_changes }],
    ...['user:1', 'typing:1', 'conversation:1'].map((topic) => [topic, topic, 'Unauthorized', { private: true }]),
  ].map(realtimeCheck),
  {
    name: 'storage',
    ask: {
      attachments: file('attachments'),
      avatars: file('avatars'),
      list: send('/storage/v1/object/list/attachments', { method: 'POST', json: { prefix: '', limit: 1 } }),
    },
    right: () => true,
    wrong: ([attachments, avatars, list]) => ({
      // Storage calls a private bucket unknown here, and in a public one it is the file that is unknown.
      [`attachments may be public: ${describeAnswer(attachments)}`]: !isUnknown('bucket', attachments),
      [`avatars are not public: ${describeAnswer(avatars)}`]: !isUnknown('object', avatars),
      'without a token one can list attachments': list.status === 200 && list.body?.length !== 0,
    }),
    say: 'attachments are private, avatars public',
  },
  {
    name: 'schedule',
    needs: 'secretKey',
    ask: { 'the jobs': query('rpc/describe_schedule', { as: 'secretKey' }) },
    wrong: ([{ body }], { isLoopback }) => ({
      'there is no job': body.length === 0 && !isLoopback,
      ...Object.fromEntries(
        body.map(({ job, last_status, last_message }) => [`${job}: ${last_message}`, last_status === 'failed']),
      ),
    }),
    say: ([{ body }]) =>
      body.length > 0 ? `${body.length} jobs, none failed at its latest run` : 'timers of this machine',
  },
  {
    name: 'embedding queue',
    needs: 'secretKey',
    ask: { metrics },
    wrong: ([{ values: { embedding_queue_oldest_seconds: oldest, embedding_queue_dead: dead } }]) => ({
      // The schedule runs every minute.
      [`the oldest waits for ${oldest} s: the schedule does not run, or the provider fails`]: !(oldest <= 300),
      [`${dead} dead`]: dead !== 0,
    }),
    say: ([{ values }]) => `${values.embedding_queue_waiting} waiting, none dead`,
  },
  {
    // Without the file of the offline model the search leaves out every word that no profile has, and says nothing of
    // it. Nobody writes these words, so only the model in the function that searches can know the first two. That
    // profiles are embedded, the check before this tells.
    name: 'offline model',
    ask: { 'a search': call('/users/search?q=rhabdomancy+philately+qzxvbnk&limit=1&explain=true') },
    wrong: ([{ body }]) => ({
      'the search cannot read it: deploy with npm run deploy': body._understood?.text !== 'rhabdomancy philately',
    }),
    say: 'the search tells words from letters that mean nothing',
  },
  {
    name: 'migrations',
    needs: 'secretKey',
    ask: { metrics },
    wrong: ([{ values }]) => {
      const names = Object.keys(values).filter((name) => name.startsWith('database_migration{'))
      const noted = new Map(names.map((name) => name.match(/(?<==")[^"]*/g)))
      const missing = versions.filter((version) => !noted.has(version))
      const unknown = [...noted.keys()].filter((version) => !migrations.has(version))
      const changed = versions.filter((version) => noted.get(version) !== migrations.get(version))
      return {
        'the database has noted none: db push, or functions from before this check': noted.size === 0,
        [`the database lacks ${missing}: push the migrations`]: missing.length > 0,
        [`the database has ${unknown}, which is not in this folder: it is older`]: unknown.length > 0,
        [`${changed} had another text when it was pushed: docs/deploy.md, Upgrades`]: changed.length > 0,
      }
    },
    say: `all ${versions.length}, up to ${versions.at(-1)}`,
  },
  {
    // Without the places a search takes their names for words.
    name: 'data',
    needs: 'secretKey',
    ask: { metrics },
    wrong: ([{ values }]) =>
      Object.fromEntries(
        [...data].map(([name, md5]) => [
          `the database lacks ${name}, or has those of another release: npm run data`,
          !(`database_data{name="${name}",md5="${md5}"}` in values),
        ]),
      ),
    say: `${[...data.keys()]} of this release`,
  },
]
