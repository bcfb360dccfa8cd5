/** The checks of a project but --write, by name. Each returns what it has found, or fails. */
import { expectAll, failIf } from './outcome.mjs'
import { forgedTokens, joinChannel } from './project.mjs'
import { edgeFunctions, migrations, places, tables } from './release.mjs'

const isRefused = ({ status }) => status === 401 || status === 403

export const checksOf = (project) => {
  const { url, isLocal, publishableKey, secretKey, call, query, send, timeout } = project

  /** The metrics, by name and labels. */
  const metrics = async () => {
    const [{ text }] = await expectAll([['the functions', call('/health/metrics', { key: secretKey })]])
    const lines = text.matchAll(/^(\w+(?:\{\S*\})?) (\S+)$/gm)
    const values = Object.fromEntries([...lines].map(([, name, value]) => [name, Number(value)]))
    failIf({ 'the database does not answer': values.database_up !== 1 })
    return values
  }

  // After a pause Realtime answers some joins with an error of its own until it has connected to the database.
  const join = async (isPrivate, attempts = 4) => {
    const reply = await joinChannel(project, 'user:1', isPrivate)
    reply.close()
    const isFinal = reply.status !== 'error' || /^(PrivateOnly|Unauthorized)/.test(reply.text) || attempts === 1
    if (isFinal) return reply
    await new Promise((resolve) => setTimeout(resolve, timeout / 5))
    return join(isPrivate, attempts - 1)
  }

  return {
    health: async () => {
      const isRight = ({ status, body }) =>
        status === 200 && body?.database === 'ok' && Number.isInteger(body.embeddings?.pending)
      const [{ body: { embeddings } }] = await expectAll([[url.origin, call('/health'), isRight]])
      return `database ok, embeddings by ${embeddings.provider}, ${embeddings.pending} pending`
    },
    releases: async () => {
      const answers = await expectAll(edgeFunctions.map((name) => [name, call(`/${name}/openapi.json`)]))
      const releases = answers.map(({ headers }) => headers.get('X-Release') ?? 'none')
      failIf({
        [edgeFunctions.map((name, i) => `${name}: ${releases[i]}`).join(', ')]: new Set(releases).size > 1,
        'the functions report no release: an older one, or not these functions': releases[0] === 'none',
        'not built: deploy with npm run deploy': releases[0] === 'development' && !isLocal,
      })
      return `${edgeFunctions.join(', ')}: ${releases[0]}`
    },
    keys: async () => {
      const [{ body }] = await expectAll([
        ['the Data API, with the publishable key', query('interests?select=id&limit=1')],
        ['the Data API, with the secret key', query('users?select=id&limit=1', { key: secretKey })],
      ])
      failIf({ 'no interests: run db push with --include-seed': !(body?.length > 0) })
      await metrics()
      return 'accepted by the Data API and the functions'
    },
    tokens: async () => {
      const people = await forgedTokens('authenticated')
      const services = await forgedTokens('service_role')
      await expectAll([
        ['no token', call('/users/me'), isRefused],
        ...people.map(([name, token]) => [`${name}, by the functions`, call('/users/me', { token }), isRefused]),
        ...services.map((
          [name, key],
        ) => [`${name}, by the Data API`, query('interests', { key, token: key }), isRefused]),
      ])
      return 'none and forged ones are refused'
    },
    'auth settings': async () => {
      const request = send('/auth/v1/settings', { key: publishableKey })
      const [{ body }] = await expectAll([['Auth', request, ({ status, body }) => status === 200 && body?.external]])
      failIf({
        'sign-ups are off': body.disable_signup,
        'the e-mail provider is off': !body.external.email,
        'anonymous sign-ins are on': body.external.anonymous_users,
        'Confirm email is off: anybody can claim any address': body.mailer_autoconfirm && !isLocal,
      })
      return body.mailer_autoconfirm ? 'addresses are not confirmed, on this machine' : 'addresses are confirmed'
    },
    // Who may write what is in the migrations; this finds what was granted by hand.
    tables: async () => {
      const isDenied = (answer) => isRefused(answer) && answer.body?.code === '42501'
      await expectAll(tables.map((table) => [table, query(`${table}?select=*&limit=1`), isDenied]))
      return `${tables.join(', ')}: refused without a token`
    },
    schemas: async () => {
      const read = (schema) => query('users', { headers: { 'Accept-Profile': schema } })
      await expectAll(['api', 'private'].map((schema) => [schema, read(schema), ({ status }) => status === 406]))
      return 'api and private are not exposed'
    },
    realtime: async () => {
      const isRefusedAs = (code) => ({ status, text }) => status === 'error' && text.startsWith(code)
      await expectAll([
        ['a public channel', join(false), isRefusedAs('PrivateOnly')],
        ['a private one without a token', join(true), isRefusedAs('Unauthorized')],
      ])
      return 'public channels, and private ones without a token, are refused'
    },
    storage: async () => {
      // Without `info` Storage looks for the bucket and the file at once, and answers what it finds first.
      const file = (bucket) => send(`/storage/v1/object/public/${bucket}/doctor`, { key: publishableKey })
      const listing = { method: 'POST', key: publishableKey, json: { prefix: '', limit: 1 } }
      const list = send('/storage/v1/object/list/attachments', listing)
      // It calls a private bucket unknown here, and in a public one it is the file that is unknown.
      await expectAll([
        ['attachments may be public', file('attachments'), ({ text }) => /bucket not found/i.test(text)],
        ['avatars are not public', file('avatars'), ({ text }) => /object not found/i.test(text)],
        ['without a token one can list attachments', list, ({ status, body }) => status !== 200 || body?.length === 0],
      ])
      return 'attachments are private, avatars public'
    },
    schedule: async () => {
      const [{ body: jobs }] = await expectAll([['the jobs', query('rpc/describe_schedule', { key: secretKey })]])
      failIf({
        'there is no job': jobs.length === 0 && !isLocal,
        ...Object.fromEntries(
          jobs.map(({ job, last_status, last_message }) => [`${job}: ${last_message}`, last_status === 'failed']),
        ),
      })
      return jobs.length > 0 ? `${jobs.length} jobs, none failed at its latest run` : 'timers of this machine'
    },
    'embedding queue': async () => {
      const values = await metrics()
      const { embedding_queue_oldest_seconds: oldest, embedding_queue_dead: dead } = values
      failIf({
        [`the oldest waits for ${oldest} s: the schedule does not run, or the provider fails`]: !(oldest <= 300),
        [`${dead} dead`]: dead !== 0,
      })
      return `${values.embedding_queue_waiting} waiting, none dead`
    },
    // Without the file of the offline model the search leaves out every word that no profile has, and says nothing of
    // it. Nobody writes these words, so only the model in the function that searches can know the first two.
    'offline model': async () => {
      const search = call('/users/search?q=rhabdomancy+philately+qzxvbnk&limit=1&explain=true')
      const [{ body }] = await expectAll([['a search', search]])
      failIf({
        'the search cannot read it: deploy with npm run deploy': body._understood?.text !== 'rhabdomancy philately',
      })
      return 'the search tells words from letters that mean nothing'
    },
    migrations: async () => {
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
    },
  }
}
