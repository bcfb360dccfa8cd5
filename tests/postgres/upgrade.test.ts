// docs/deploy.md, "Upgrades and rollbacks", in a project that is used: from the last release and its functions to this
// folder, and back to the functions of the release.
//   MESSAGES=1000000 npm run test:postgres -- tests/postgres/upgrade
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rateNames } from '../../functions/_shared/setting_rules.ts'
import { call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { checkOutRelease } from '../tools/release.ts'
import { pause } from '../tools/wait.ts'
import { loadVector, lockTables } from './migration_header.ts'
import { commands } from './walked_page.ts'
import { copyRepository, expectGreenDoctor, openWalk } from './walked_project.ts'

const messages = Number(process.env.MESSAGES ?? 20_000)
let walk: Awaited<ReturnType<typeof openWalk>>
let project: typeof walk.project
let release: ReturnType<typeof walk.openFolder>

const pageLines = (pattern: RegExp): string[] => commands.map(({ text }) => text).filter((text) => pattern.test(text))

beforeAll(async () => {
  walk = await openWalk()
  project = walk.project
  release = walk.openFolder(checkOutRelease())
  for (const line of pageLines(/^npx supabase (link|db push --include-seed)|^DATABASE_URL=.*npm run data$/)) {
    await release.succeed(line)
  }
  await project.startServices(release.folder)
  for (const line of pageLines(/^npm run deploy$|edge_functions password|EDGE_DATABASE_URL/)) {
    await release.succeed(line)
  }
  await project.sql.unsafe(walk.filledIn(pageLines(/^select vault.create_secret/)[0]!))
  await grow()
  // These people do more than people may.
  for (const name of rateNames) project.management.secrets.set(name, 'off')
  await project.startFunctions()
})
afterAll(() => walk?.close())

// What a migration may do while the release's functions serve requests, as CONTRIBUTING.md prescribes it. They are
// applied after the real ones, of which there may be none.
const sampleMigrations = {
  '99990101000000_add.sql': `
    set local lock_timeout = '500ms';
    ${loadVector}
    ${lockTables(['public.conversations', 'public.messages'])}
    alter table public.messages add column added integer not null default 0;
    alter table public.messages add constraint "added is not negative" check (added >= 0) not valid;
    drop policy "participants read messages" on public.messages;
    create policy "participants read messages" on public.messages
      for select to authenticated
      using (conversation_id in (select private.my_conversations()));
    do $$
    declare
      definition text;
    begin
      for definition in
        select pg_get_functiondef(oid)
        from pg_proc
        where pronamespace in ('api'::regnamespace, 'private'::regnamespace) and prokind = 'f'
      loop
        execute definition;
      end loop;
    end
    $$;
  `,
  '99990101000001_validate.sql': 'alter table public.messages validate constraint "added is not negative";',
  '99990101000002_index.sql': 'create index concurrently messages_added_idx on public.messages (added, id);',
}

/** Adds people, conversations and messages as the bench does, nobody of whom can be found, and the demo data. */
const grow = async (): Promise<void> => {
  const sizes = { users: messages / 100, conversations: messages / 50, messages }
  const variables = Object.entries(sizes).flatMap(([name, value]) => ['-v', `${name}=${Math.max(value, 1000)}`])
  project.psql(...variables, '-f', join(release.folder, 'bench/endpoints/fixture.sql'))
  project.psql(
    ...['-c', 'set session_replication_role = replica', '-c', 'update public.profiles set is_searchable = false'],
    ...['-c', 'drop schema bench cascade'],
  )
  // Everything that a conversation can have: reservations in all states, reports, read markers.
  for (const name of ['people_1', 'people_2', 'conversations', 'moderation']) {
    const text = readFileSync(join(release.folder, `sql/seed/demo_${name}.sql`), 'utf8')
    // Only one machine may have a photo at its own address.
    await project.sql.unsafe(text.replaceAll('http://127.0.0.1:54321', 'https://project.example'))
  }
}

/** How long statements wait for a lock on a table, at most, in milliseconds. */
const watchLocks = () => {
  let [isOver, longest] = [false, 0]
  const watching = (async () => {
    for (; !isOver; await pause(5)) {
      const [row] = await project.sql`
        select coalesce(max(extract(epoch from clock_timestamp() - waitstart)) * 1000, 0)::float as waited
        from pg_locks where locktype = 'relation' and not granted`
      longest = Math.max(longest, row!.waited)
    }
    return longest
  })()
  return () => {
    isOver = true
    return watching
  }
}

type Request = [method: string, path: string, body?: () => unknown]

test('an upgrade of a project in use keeps nobody waiting for long, and no request fails', async () => {
  const base = `${project.origin}/functions/v1`
  const searchable = { city: 'Porto', is_searchable: true }
  const [ana, ben] = [await signUp('Ana', searchable, base), await signUp('Ben', searchable, base)]
  const conversation = await openConversation(ana, ben)
  const requests: Request[] = [
    ['POST', `/conversations/${conversation}/messages`, () => ({ content: 'Still there?', client_id: randomUUID() })],
    ['GET', `/conversations/${conversation}/messages?limit=20`],
    ['GET', '/conversations'],
    ['GET', '/conversations/unread'],
    ['GET', '/users/search?q=porto'],
    ['PATCH', '/users/profile', () => ({ biography: `I was here at ${Date.now()}` })],
    ['PATCH', '/users/searchable', () => ({ is_searchable: true })],
    ['GET', '/users/me'],
  ]
  const failures: string[] = []
  // Whoever has no answer yet may send three.
  const sent = new Set<number>([(await sendMessage(ben, conversation, 'Hello')).id])
  let [answered, slowest, waited, isOver] = [0, 0, 0, false]
  const keepAsking = async ({ token }: Person, start: number): Promise<void> => {
    for (let round = start; !isOver; round++) {
      const [method, path, body] = requests[round % requests.length]!
      const began = performance.now()
      const sentBody = body?.()
      const ask = () =>
        call(method, base + path, sentBody, { token })
          .catch(({ cause }) => ({ status: 599, text: `${cause}`, body: {} }))
      const first = await ask()
      // A busy machine: whoever repeats it is answered.
      const { status, text, body: answer } = first.status === 503 ? await ask() : first
      slowest = Math.max(slowest, performance.now() - began)
      answered++
      if (status >= 300) failures.push(`${method} ${path} answered ${status} ${text}`)
      else if (method === 'POST') sent.add(answer.id)
      await pause(20)
    }
  }
  const locks = watchLocks()
  // Both participants send every request in turn, twice.
  const clients = [0, 1, 2, 3].map((start) => keepAsking([ana, ben][start % 2]!, start * 2))
  await pause(1000)

  const current = walk.openFolder(copyRepository())
  for (const [name, script] of Object.entries(sampleMigrations)) {
    writeFileSync(join(current.folder, 'supabase/migrations', name), script)
  }
  const { uploads } = project.management
  const released = [...uploads]
  const counts = [answered]
  const goOn = async () => {
    await pause(1000)
    counts.push(answered)
  }
  try {
    for (const line of pageLines(/^npx supabase (link|db push --include-seed)/)) await current.succeed(line)
    await goOn()
    for (const line of pageLines(/^DATABASE_URL=.*npm run data$|^npm run deploy$/)) await current.succeed(line)
    await project.startFunctions()
    await goOn()
    // Back to the functions of the release: they have no state, and the schema stays.
    const upgraded = [...uploads]
    for (const versions of [released, upgraded]) {
      for (const [name, upload] of versions) uploads.set(name, upload)
      await project.startFunctions()
      await goOn()
    }
  } finally {
    isOver = true
    await Promise.all(clients)
    waited = await locks()
  }
  const figures = { messages, waited, answered, slowest, failed: failures.length }
  console.log(`upgrade, in milliseconds: ${JSON.stringify(figures)}`)

  expect([...new Set(failures)]).toEqual([])
  // Ten times what it takes on a quiet machine.
  expect(waited).toBeLessThan(12_000)
  // During each step.
  counts.slice(1).forEach((count, i) => expect(count - counts[i]!).toBeGreaterThan(5))
  const versions = await project.sql`select version from supabase_migrations.schema_migrations order by version`
  expect(versions.map(({ version }) => version)).toEqual(current.migrations().map((name) => name.split('_')[0]))
  const stored = await project.sql`select id::int from public.messages where conversation_id = ${conversation}`
  expect(new Set(stored.map(({ id }) => id))).toEqual(sent)
  for (const line of pageLines(/^export SUPABASE_PUBLISHABLE_KEY|^npm run doctor .*--write$/)) {
    const outcome = await current.succeed(line)
    if (line.startsWith('npm')) expectGreenDoctor(outcome)
  }
})
