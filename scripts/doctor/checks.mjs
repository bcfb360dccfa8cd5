/** The checks of a project but those of --write. Each returns what it has found, or fails. */
import { describeAnswer, expectAll, failIf } from './outcome.mjs'
import { forgedTokens, joinChannel } from './project.mjs'
import { edgeFunctions, functions, migrations, places, tables } from './release.mjs'

const mapValues = (values, map) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))
const isUnauthorized = ({ status }) => status === 401
const isRefused = ({ status }) => status === 401 || status === 403
// 55000: a view of several tables cannot be written by anybody, and that is said before rights are checked.
const hasNoRight = (answer) => isRefused(answer) && answer.body?.code === '42501' || answer.body?.code === '55000'

export const checksOf = (project) => {
  const { url, isLocal, call, query, send, timeout } = project
  const interests = 'interests?select=id&limit=1'

  /** The metrics, by name and labels. */
  const metrics = async () => {
    const [{ text }] = await expectAll({ 'the functions': call('/health/metrics', { as: 'secretKey' }) })
    const lines = text.matchAll(/^(\w+(?:\{\S*\})?) (\S+)$/gm)
    const values = Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]))
    failIf({ 'the database does not answer': values.database_up !== 1 })
    return values
  }

  // After a pause Realtime answers some joins with an error of its own until it has connected to the database.
  const join = async (topic, config, attempts = 4) => {
    const reply = await joinChannel(project, topic, config)
    reply.close()
    const isFinal = reply.status !== 'error' || /^(PrivateOnly|Unauthorized)/.test(reply.text) || attempts === 1
    if (isFinal) return reply
    await new Promise((resolve) => setTimeout(resolve, timeout / 5))
    return join(topic, config, attempts - 1)
  }
  const realtimeCheck = (name, code, config) => [`realtime ${name}`, async () => {
    const isRight = ({ status, text }) =>
      status === 'error' && text.startsWith(code) || config.key && isRefused({ status })
    const [{ text }] = await expectAll({ 'joining without a token': join('user:1', config) }, isRight)
    return `refused: ${text}`
  }]

  return [
    ['reachable', async () => `${url.origin} answers ${(await call('/health')).status}`],
    ['health', async () => {
      const isRight = ({ status, body }) =>
        status === 200 && body?.database === 'ok' && Number.isInteger(body.embeddings?.pending)
      const [{ body: { embeddings } }] = await expectAll({ health: call('/health') }, isRight)
      return `database ok, embeddings by ${embeddings.provider}, ${embeddings.pending} pending`
    }],
    // Each function reports the release that it was built from.
    ['releases', async () => {
      const answers = await expectAll(
        Object.fromEntries(edgeFunctions.map((name) => [name, call(`/${name}/openapi.json`)])),
      )
      const releases = answers.map(({ headers }) => headers.get('X-Release') ?? 'none')
      failIf({
        [edgeFunctions.map((name, i) => `${name}: ${releases[i]}`).join(', ')]: new Set(releases).size > 1,
        'the functions report no release: an older one, or not these functions': releases[0] === 'none',
        'not built: deploy with npm run deploy': releases[0] === 'development' && !isLocal,
      })
      return `${edgeFunctions.join(', ')}: ${releases[0]}`
    }],
    ['tokens', async () => {
      const tokens = { 'no token': null, ...await forgedTokens('authenticated') }
      await expectAll(mapValues(tokens, (token) => call('/users/me', { token })), isUnauthorized)
      return 'none and forged ones are refused'
    }],
    ['secret routes', async () => {
      const requests = {
        'metrics without a key': call('/health/metrics'),
        'metrics with the publishable key': call('/health/metrics', { as: 'publishableKey' }),
        'embed without a key': call('/embed', { method: 'POST' }),
        'embed with the publishable key': call('/embed', { method: 'POST', as: 'publishableKey' }),
      }
      await expectAll(requests, isUnauthorized)
      return 'metrics and embed need the secret key'
    }],
    ['publishable key', async () => {
      const [{ body }] = await expectAll({ 'the Data API': query(interests) })
      failIf({ 'no interests: run db push with --include-seed': !(body?.length > 0) })
      return 'accepted'
    }],
    ['other keys', async () => {
      const keys = {
        ...{ 'no key': { key: null }, 'another publishable key': { key: 'sb_publishable_x' } },
        'another secret key': { key: 'sb_secret_x' },
        ...mapValues(await forgedTokens('service_role'), (key) => ({ key, token: key })),
      }
      await expectAll(mapValues(keys, (options) => query(interests, options)), isRefused)
      return `${Object.keys(keys).join(', ')}: refused`
    }],
    ['secret key', async () => {
      await expectAll({ 'the Data API': query('users?select=id&limit=1', { as: 'secretKey' }) })
      await metrics()
      return 'accepted by the Data API and the functions'
    }],
    ['auth settings', async () => {
      const request = send('/auth/v1/settings', { as: 'publishableKey' })
      const [{ body }] = await expectAll({ Auth: request }, ({ status, body }) => status === 200 && body?.external)
      failIf({
        'sign-ups are off': body.disable_signup,
        'the e-mail provider is off': !body.external.email,
        'anonymous sign-ins are on': body.external.anonymous_users,
        'Confirm email is off: anybody can claim any address': body.mailer_autoconfirm && !isLocal,
      })
      return body.mailer_autoconfirm ? 'addresses are not confirmed, on this machine' : 'addresses are confirmed'
    }],
    // No write changes anything if it is allowed: no row matches the filter, and the one to insert lacks a column.
    ...tables.map(({ name, column }) => [`table ${name}`, async () => {
      const nowhere = `${name}?and=(${column}.is.null,${column}.not.is.null)`
      await expectAll({
        // Everybody may read these.
        ...(name !== 'interests' && { 'reading without a token': query(`${name}?select=*&limit=1`) }),
        updating: query(nowhere, { method: 'PATCH', json: { [column]: null } }),
        deleting: query(nowhere, { method: 'DELETE' }),
        inserting: query(name, { method: 'POST', json: { [column]: null } }),
      }, hasNoRight)
      return 'refused without a token'
    }]),
    // By GET, which cannot write.
    ['functions', async () => {
      const call = ([name, parameters]) => query(`rpc/${name}?${parameters.map((one) => `${one}=0`).join('&')}`)
      await expectAll(Object.fromEntries(functions.map((one) => [one[0], call(one)])), hasNoRight)
      return `${functions.map(([name]) => name).join(', ')}: refused`
    }],
    ['schemas', async () => {
      const read = (schema) => query('users', { headers: { 'Accept-Profile': schema } })
      await expectAll({ api: read('api'), private: read('private') }, ({ status }) => status === 406)
      return 'api and private are not exposed'
    }],
    realtimeCheck('key', '', { private: true, key: 'sb_publishable_x' }),
    realtimeCheck('public', 'PrivateOnly', { private: false }),
    realtimeCheck('private', 'Unauthorized', { private: true }),
    ['storage', async () => {
      // Without `info` Storage looks for the bucket and the file at once, and answers what it finds first.
      const file = (bucket) => send(`/storage/v1/object/public/${bucket}/doctor`, { as: 'publishableKey' })
      const listing = { method: 'POST', as: 'publishableKey', json: { prefix: '', limit: 1 } }
      const [attachments, avatars, list] = await expectAll({
        ...{ attachments: file('attachments'), avatars: file('avatars') },
        list: send('/storage/v1/object/list/attachments', listing),
      }, () => true)
      const isUnknown = (what, { status, text }) =>
        status >= 400 && status < 500 && text.toLowerCase().includes(`${what} not found`)
      failIf({
        // Storage calls a private bucket unknown here, and in a public one it is the file that is unknown.
        [`attachments may be public: ${describeAnswer(attachments)}`]: !isUnknown('bucket', attachments),
        [`avatars are not public: ${describeAnswer(avatars)}`]: !isUnknown('object', avatars),
        'without a token one can list attachments': list.status === 200 && list.body?.length !== 0,
      })
      return 'attachments are private, avatars public'
    }],
    ['schedule', async () => {
      const [{ body: jobs }] = await expectAll({ 'the jobs': query('rpc/describe_schedule', { as: 'secretKey' }) })
      failIf({
        'there is no job': jobs.length === 0 && !isLocal,
        ...Object.fromEntries(
          jobs.map(({ job, last_status, last_message }) => [`${job}: ${last_message}`, last_status === 'failed']),
        ),
      })
      return jobs.length > 0 ? `${jobs.length} jobs, none failed at its latest run` : 'timers of this machine'
    }],
    ['embedding queue', async () => {
      const values = await metrics()
      const { embedding_queue_oldest_seconds: oldest, embedding_queue_dead: dead } = values
      failIf({
        // The schedule runs every minute.
        [`the oldest waits for ${oldest} s: the schedule does not run, or the provider fails`]: !(oldest <= 300),
        [`${dead} dead`]: dead !== 0,
      })
      return `${values.embedding_queue_waiting} waiting, none dead`
    }],
    // Without the file of the offline model the search leaves out every word that no profile has, and says nothing of
    // it. Nobody writes these words, so only the model in the function that searches can know the first two.
    ['offline model', async () => {
      const search = call('/users/search?q=rhabdomancy+philately+qzxvbnk&limit=1&explain=true')
      const [{ body }] = await expectAll({ 'a search': search })
      failIf({
        'the search cannot read it: deploy with npm run deploy': body._understood?.text !== 'rhabdomancy philately',
      })
      return 'the search tells words from letters that mean nothing'
    }],
    ['migrations', async () => {
      const names = Object.keys(await metrics())
      const noted = new Map(
        names.filter((name) => name.startsWith('database_migration{')).map((name) => name.match(/(?<==")[^"]*/g)),
      )
      const versions = [...migrations.keys()]
      const missing = versions.filter((version) => !noted.has(version))
      const unknown = [...noted.keys()].filter((version) => !migrations.has(version))
      const changed = versions.filter((version) => noted.get(version) !== migrations.get(version))
      failIf({
        [`the database lacks ${missing}: push the migrations`]: missing.length > 0,
        [`the database has ${unknown}, which is not in this folder: it is older`]: unknown.length > 0,
        [`${changed} had another text when it was pushed: docs/deploy.md, Upgrades`]: changed.length > 0,
        // Without them a search takes the names of places for words.
        'the database lacks places, or has those of another release: npm run data': !names.includes(
          `database_data{name="places",md5="${places}"}`,
        ),
      })
      return `all ${versions.length}, up to ${versions.at(-1)}, and places of this release`
    }],
  ]
}
