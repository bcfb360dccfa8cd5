// The backup in docs/runbook.md, with the commands printed there.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from '../tools/people.ts'
import { connected, makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'

/** The row count of each table and the last value of each sequence. */
const contentsOf = (url: string): Promise<Record<string, string>> =>
  connected(url, async (sql) => {
    const tables = await sql`
      select format('%I.%I', schemaname, tablename) as name
      from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')
    `
    const contents: Record<string, string> = {}
    for (const { name } of tables) {
      const [row] = await sql.unsafe(`select count(*) from ${name}`)
      contents[name] = row!.count
    }
    const sequences = await sql`select schemaname || '.' || sequencename as name, last_value from pg_sequences`
    for (const { name, last_value } of sequences) contents[name] = `next after ${last_value}`
    return contents
  })

const request = async (base: string, path: string, token?: string, body?: unknown): Promise<[number, string]> => {
  const { status, text } = await call(body === undefined ? 'GET' : 'POST', base + path, body, {
    ...(token && { token }),
  })
  return [status, text]
}

const paths = [
  '/users/interests',
  '/users/47',
  '/users/me',
  '/conversations',
  '/conversations/unread',
  '/conversations/1',
  '/conversations/1/messages?limit=100',
  ...['', '?q=jazz', '?q=ceramisc', '?q=quiet+walks+by+the+sea', '?filterCity=Lisbon&q=market', '?q="double+bass"'].map(
    (query) => `/users/search${query}`,
  ),
]
const ines = { email: 'ines.carvalho@example.com', password: 'voyage-2026' }

const responsesOf = async (base: string, token: string): Promise<Record<string, [number, string]>> => {
  const responses: Record<string, [number, string]> = {}
  for (const path of paths) responses[path] = await request(base, path, token)
  return responses
}

test('a restored dump has the same rows and returns the same responses', async () => {
  const [, backup, restore] = /## Backup and restore[^]*?```sh\n(pg_dump [^]*?)```[^]*?```sh\n(pg_restore [^]*?)```/
    .exec(readFileSync('docs/runbook.md', 'utf8'))!
  const folder = mkdtempSync(join(tmpdir(), 'backup-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const shell = (command: string, env: Record<string, string>) =>
    promisify(execFile)('bash', ['-euc', command], {
      cwd: folder,
      env: { ...env, PATH: `${process.env.PREFIX}/usr/lib/postgresql/17/bin:${process.env.PATH}` },
    })

  const first = await makeDatabase('dumped')
  const before = await startStack({ DATABASE_URL: first, SEED: 'demo' })
  onTestFinished(() => stopStack(before.process))
  const { access_token: token } = JSON.parse((await request(before.base, '/auth/login', undefined, ines))[1])
  const message = { content: 'Before the backup', client_id: randomUUID() }
  const sent = await request(before.base, '/conversations/1/messages', token, message)
  expect(sent[0]).toBe(201)
  await vi.waitUntil(async () => JSON.parse((await request(before.base, '/health'))[1]).embeddings.pending === 0, {
    timeout: 60_000,
  })
  const expected = await responsesOf(before.base, token)
  // The stack would go on to deliver what waits in the outbox.
  await stopStack(before.process)
  await shell(backup!, { DATABASE_URL: first })
  const dumped = await contentsOf(first)

  const second = await makeDatabase('restored')
  await shell(restore!, { RESTORED_URL: second })
  expect(await contentsOf(second)).toEqual(dumped)
  expect(Number(dumped['public.messages'])).toBeGreaterThan(40)
  expect(Number(dumped['private.search_entries'])).toBeGreaterThan(100)

  const after = await startStack({ DATABASE_URL: second, SEED: 'demo' })
  onTestFinished(() => stopStack(after.process))
  // The old token is still valid, and log-in works.
  expect(await responsesOf(after.base, token)).toEqual(expected)
  expect((await request(after.base, '/auth/login', undefined, ines))[0]).toBe(200)
  // A retry from before the backup creates no second message; new messages get higher ids.
  expect(await request(after.base, '/conversations/1/messages', token, message)).toEqual(sent)
  const next = await request(after.base, '/conversations/1/messages', token, { content: 'After it' })
  expect(JSON.parse(next[1]).id).toBeGreaterThan(JSON.parse(sent[1]).id)
  const [, metrics] = await request(after.base, '/health/metrics?oldest_audit=0', testKeys.secretKey)
  expect(metrics.match(/^search_audit_findings.*$/gm)).toHaveLength(6)
  expect(metrics.match(/^search_audit_findings.* [^0]\d*$/gm)).toBe(null)
}, 120_000)
