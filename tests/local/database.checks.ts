import { cpSync } from 'node:fs'
import { check, equal, until } from './check.ts'

const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
/** On a copy of PREPARED_DATA, or else a new database. */
const open = async () => {
  const { openPglite } = await import('../../supabase/local/database.ts')
  const { openPlatform } = await import('../../supabase/local/platform.ts')
  const { readSettings } = await import('../../supabase/local/settings.ts')
  const prepared = Deno.env.get('PREPARED_DATA')
  const folder = Deno.makeTempDirSync()
  if (prepared) cpSync(prepared, folder, { recursive: true })
  const database = await openPglite(folder)
  const openAt = (PORT: string, SEED = 'none') =>
    openPlatform(database, keys, readSettings({ PORT, DATA_DIR: 'memory', SEED }))
  const start = (...at: [string, string?]) => openAt(...at).then(() => 'started', ({ message }) => message.slice(0, 55))
  const platform = await openAt('8001')
  return { database, platform, start }
}

check('a database is opened again if what its migrations contained is known and the same', {}, async () => {
  const { database, start } = await open()
  const change = async (statements: string) => {
    await database.run(`
      update supabase_migrations.schema_migrations set statements = ${statements} where version like '%1'`)
    return await start('8001')
  }
  // As the CLI splits it.
  const split = String.raw`array(select btrim(part, E'\n') from regexp_split_to_table(statements[1], ';\n') as part)`
  equal(await change(split), 'started')
  const refusal = 'The database was made by another text of a migration than the one'
  equal(await change(`statements || array['select 1']`), refusal.slice(0, 55))
  equal(await change('null'), refusal.slice(0, 55))
})

// All memory of the process differs by 50 MB as garbage happens to be collected.
check('a database on one machine has small buffers, which it would fill at once', {}, async () => {
  const { database } = await open()
  equal(await database.query('show shared_buffers', []), [{ shared_buffers: '16MB' }])
})

check('a photo of this machine is one of its own port, to which those of another port move', {}, async () => {
  const { database, start } = await open()
  const photo = (port: number) =>
    `http://127.0.0.1:${port}/storage/v1/object/public/avatars/5f8f4d4e-1f0a-4d3e-9a51-000000000000/a.png`
  await database.run(`
    insert into public.users (name, email) values ('Ana', 'ana@tests.example');
    insert into public.profiles (user_id) select id from public.users on conflict do nothing`)
  const save = (url: string) =>
    database.query('update public.profiles set image_url = $1', [url]).then(() => 'saved', ({ code }) => code)
  equal([await save(photo(8001)), await save(photo(8002)), await save(photo(22))], ['saved', '23514', '23514'])
  equal(await start('8002'), 'started')
  equal(await database.query('select image_url from public.profiles', []), [{ image_url: photo(8002) }])
  equal([await save(photo(8001)), await save(photo(8002))], ['23514', 'saved'])
})

check('people who were imported are not mixed with those of the demo', {}, async () => {
  const { database, start } = await open()
  await database.run(`
    delete from supabase_migrations.seed_files;
    insert into public.users (name, email) values ('Ana', 'ana@tests.example')`)
  equal(await start('8001', 'demo'), 'started')
  equal(await database.query('select name from public.users', []), [{ name: 'Ana' }])
})

check('one machine runs the jobs of the schedule, and deletes dead letters as Supabase does', {}, async () => {
  const { startJobs } = await import('../../supabase/local/jobs.ts')
  const { database } = await open()
  await database.run(`
    insert into private.outbox (channel, event, attempts, due_at)
    values ('webhook', 'user.erased', 8, now() - interval '31 days'), ('webhook', 'user.erased', 8, now())`)
  const listed = await database.query('select name, command from private.list_jobs()', [])
  const run: unknown[] = []
  let drains = 0
  const stop = await startJobs({
    ...database,
    query: async (text, values) => {
      const rows = await database.query(text, values)
      run.push(...listed.filter(({ command }) => command === text).map(({ name }) => name))
      return rows
    },
  }, () => drains++)
  const jobs = ['count words', 'forget dead letters', 'forget old changes', 'measure answers', 'purge evidence']
  await until(() => run.length > jobs.length)
  stop()
  equal([drains, run.sort()], [1, [...jobs, 'settle reservations']])
  equal((await database.query('select from private.outbox', [])).length, 1)
})

check('the jobs run every five seconds, each hour or each day, as their schedules say', {}, async () => {
  const { intervalOf } = await import('../../supabase/local/jobs.ts')
  equal(['10 seconds', '37 * * * *', '23 3 * * *'].map(intervalOf), [5000, 3_600_000, 86_400_000])
})

check('with the mutex concurrent callers of PGlite read their own rows, and without it those of others', {
  LITE_AUTH_BCRYPT_COST: '4',
}, async () => {
  const { database, platform } = await open()
  const send = (method: string, path: string, token: string | null, body?: unknown): Promise<Response> => {
    const headers = {
      apikey: keys.publishableKey,
      'Content-Type': 'application/json',
      ...(token && { Authorization: `Bearer ${token}` }),
    }
    const request = new Request(`http://127.0.0.1${path}`, {
      method,
      headers,
      body: body ? JSON.stringify(body) : null,
    })
    return Promise.resolve(platform.fetch(request, { peerAddress: '127.0.0.1' }))
  }
  const users: { email: string; token: string }[] = []
  for (let index = 0; index < 20; index++) {
    const email = `user${index}@example.com`
    const account = { email, password: 'correct horse', data: { name: email } }
    const answer = await database.mutex(() => send('POST', '/auth/v1/signup', null, account))
    users.push({ email, token: (await answer.json()).access_token })
  }
  /** All read their rows twenty times, all at once. */
  const read = (enter: <Result>(work: () => Promise<Result>) => Promise<Result>) =>
    Promise.all(users.flatMap(({ email, token }) =>
      Array.from({ length: 20 }, async () => {
        const answer = await enter(() => send('GET', '/rest/v1/users?select=email', token))
        return await answer.text() === JSON.stringify([{ email }])
      })
    ))
  equal(await read((work) => database.mutex(work)), Array(400).fill(true))
  // So this check can fail.
  equal((await read((work) => work())).includes(false), true)
})
