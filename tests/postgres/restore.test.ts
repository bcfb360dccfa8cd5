// The backup in docs/runbook.md, with the commands printed there.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { searchAudit } from '../tools/search_audit.ts'
import { startStack, stopStack } from '../tools/stack.ts'

/** The row count of each table and the last value of each sequence. */
const contentsOf = (url: string): Promise<Record<string, string>> =>
  connected(url, async (sql) => {
    const rows = await sql`
      select format('%I.%I', schemaname, tablename) as name,
        (xpath('//count/text()', query_to_xml(format('select count(*) from %I.%I', schemaname, tablename),
          false, true, '')))[1]::text as content
      from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')
      union all
      select schemaname || '.' || sequencename, 'next after ' || last_value from pg_sequences`
    return Object.fromEntries(rows.map(({ name, content }) => [name, content]))
  })

const reads = [
  ...['/users/interests', '/users/47', '/users/me', '/conversations', '/conversations/unread', '/conversations/1'],
  ...['/conversations/1/messages?limit=100', '/users/search', '/users/search?q=jazz', '/users/search?q=ceramisc'],
  ...[
    '/users/search?q=quiet+walks+by+the+sea',
    '/users/search?filterCity=Lisbon&q=market',
    '/users/search?q="double+bass"',
  ],
]
const ines = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }
const messages = '/conversations/1/messages'

test('a restored dump has the same rows and responses, and its files are there once they are moved', async () => {
  const [, backup, restore] = /## Backup and restore[^]*?```sh\n(pg_dump [^]*?)```[^]*?```sh\n(pg_restore [^]*?)```/
    .exec(readFileSync('docs/runbook.md', 'utf8'))!
  const folder = mkdtempSync(join(tmpdir(), 'backup-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const shell = (command: string, env: Record<string, string>) => {
    const PATH = `${process.env.PREFIX}/usr/lib/postgresql/17/bin:${process.env.PATH}`
    return promisify(execFile)('bash', ['-euc', command], { cwd: folder, env: { ...env, PATH } })
  }
  const start = async (database: string) => {
    const { base, process } = await startStack({ DATABASE_URL: database, SEED: 'demo', DATA_DIR: folder })
    onTestFinished(() => stopStack(process))
    // Photos of its own Storage have the port of a stack.
    const get = async (path: string) =>
      (await call('GET', base + path, undefined, { token })).text.replaceAll(/(127\.0\.0\.1):\d+/g, '$1')
    const post = (path: string, body: unknown) => call('POST', base + path, body, { ...(token && { token }) })
    const responses = () => Promise.all(reads.map(async (path) => [path, await get(path)]))
    return { base, process, get, post, responses }
  }
  let token = ''

  const first = await makeDatabase('dumped')
  const before = await start(first)
  token = (await before.post('/auth/login', ines)).body.access_token
  const message = { content: 'Before the backup', client_id: randomUUID() }
  // Files are in no dump.
  const sub = JSON.parse(String(Buffer.from(token.split('.')[1]!, 'base64url'))).sub
  const photo = ({ base }: { base: string }, more?: RequestInit) =>
    fetch(new URL(`/storage/v1/object/${more ? '' : 'public/'}avatars/${sub}/me.png`, base), more)
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'image/png' }
  expect((await photo(before, { method: 'POST', headers, body: 'A photo' })).status).toBe(200)
  const sent = await before.post(messages, message)
  expect(sent.status).toBe(201)
  await vi.waitUntil(async () => JSON.parse(await before.get('/health')).embeddings.pending === 0, { timeout: 60_000 })
  const expected = await before.responses()
  // The stack would go on to deliver what waits in the outbox.
  await stopStack(before.process)
  await shell(backup!, { DATABASE_URL: first })
  const dumped = await contentsOf(first)

  const second = await makeDatabase('restored')
  await shell(restore!, { RESTORED_URL: second })
  expect(await contentsOf(second)).toEqual(dumped)
  expect(Number(dumped['public.messages'])).toBeGreaterThan(40)
  expect(Number(dumped['private.search_entries'])).toBeGreaterThan(100)

  const storages = () => readdirSync(folder).filter((name) => name.startsWith('storage_'))
  const [old] = storages()
  const after = await start(second)
  // The old token is still valid, and log-in works.
  expect(await after.responses()).toEqual(expected)
  expect((await after.post('/auth/login', ines)).status).toBe(200)
  // A retry from before the backup creates no second message; new messages get higher ids.
  expect((await after.post(messages, message)).text).toBe(sent.text)
  expect((await after.post(messages, { content: 'After it' })).body.id).toBeGreaterThan(sent.body.id)
  const [audit] = await connected(second, (sql) => sql.unsafe(searchAudit))
  expect(new Set(Object.values(audit!.findings))).toEqual(new Set([0]))
  expect((await photo(after)).status).toBe(400)
  await stopStack(after.process)
  const made = storages().find((name) => name !== old)!
  for (const name of readdirSync(join(folder, old!))) renameSync(join(folder, old!, name), join(folder, made, name))
  expect(await (await photo(await start(second))).text()).toBe('A photo')
})
