// A migration is applied while functions of the previous release serve requests. Until there is a migration after the
// baseline, a test migration adds a column and an index and recreates functions and a policy.
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { call, openConversation, type Person, signUp } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const [, , newest] = readdirSync('supabase/migrations').sort()
const testMigration = `
  alter table public.messages add column added integer;
  create index messages_added_idx on public.messages (added);
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
`

/** A copy of the sources, ready to start. */
const copySources = (change: (migrations: string) => void): string => {
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of readdirSync('.')) {
    if (!name.startsWith('.') && name !== 'node_modules') cpSync(name, join(folder, name), { recursive: true })
  }
  symlinkSync(`${process.cwd()}/node_modules`, join(folder, 'node_modules'))
  change(join(folder, 'supabase/migrations'))
  return folder
}

/** The sources without and with the newest migration. */
const releases = (): { before: string; after: string; version: string } => {
  if (!newest) {
    const version = '99990101000000'
    const after = copySources((folder) => writeFileSync(join(folder, `${version}_added.sql`), testMigration))
    return { before: process.cwd(), after, version }
  }
  const last = readdirSync('supabase/migrations').sort().at(-1)!
  return {
    before: copySources((folder) => rmSync(join(folder, last))),
    after: process.cwd(),
    version: last.split('_')[0]!,
  }
}

type Request = [method: string, path: string, body?: () => unknown]

test('no request fails while a migration is applied under functions of the previous release', async () => {
  const { before: earlier, after: later, version } = releases()
  const address = await makeDatabase('release')
  const before = await startStack({ DATABASE_URL: address }, earlier)
  onTestFinished(() => stopStack(before.process))
  const searchable = { city: 'Porto', is_searchable: true }
  const [ana, ben] = [await signUp('Ana', searchable, before.base), await signUp('Ben', searchable, before.base)]
  const conversation = await openConversation(ana, ben)

  const failures: string[] = []
  const sent = new Set<number>()
  let [answered, isOver] = [0, false]
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
  const send = (base: string, { token }: Person, [method, path, body]: Request) =>
    call(method, base + path, body?.(), { token })
  const first = await Promise.all(requests.map((request) => send(before.base, ana, request)))
  sent.add(first[0]!.body.id)
  expect(first.map(({ status }) => status < 300)).toEqual(requests.map(() => true))

  const keepAsking = async (base: string, person: Person, start: number): Promise<void> => {
    for (let round = start; !isOver; round++) {
      const request = requests[round % requests.length]!
      const { status, text, body } = await send(base, person, request)
      answered++
      if (status >= 300) failures.push(`${request[0]} ${request[1]} answered ${status} ${text}`)
      else if (request[0] === 'POST') sent.add(body.id)
    }
  }
  // Both participants send every request in turn, twice.
  const clients = [0, 1, 2, 3].map((start) => keepAsking(before.base, [ana, ben][start % 2]!, start * 2))

  const beforeMigration = answered
  // A new server applies pending migrations, as `supabase db push` does.
  const after = await startStack({ DATABASE_URL: address }, later)
  onTestFinished(() => stopStack(after.process))
  const applied = answered
  clients.push(...[0, 1].map((start) => keepAsking(after.base, [ana, ben][start]!, start)))
  await pause(2000)
  isOver = true
  await Promise.all(clients)

  expect([...new Set(failures)]).toEqual([])
  expect(applied - beforeMigration, 'requests while it was applied').toBeGreaterThan(20)
  expect(answered - applied, 'requests since').toBeGreaterThan(20)
  const { versions, stored } = await connected(address, async (sql) => ({
    versions: await sql`select version from supabase_migrations.schema_migrations`,
    stored: await sql`select id::int from public.messages`,
  }))
  expect(versions.map(({ version }) => version)).toContain(version)
  expect(new Set(stored.map(({ id }) => id))).toEqual(sent)
})
