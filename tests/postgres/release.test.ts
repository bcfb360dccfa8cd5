// A migration is applied while people are at it, served by the release before.
import { execSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { startStack, stopStack } from '../tools/stack.ts'

const newest = readdirSync('supabase/migrations').sort().at(-1)!
const git = (command: string): string => execSync(`git ${command}`, { encoding: 'utf8' }).trim()

/** The sources as they were before the newest migration came, in a folder of their own. */
const checkOutPrevious = (): string => {
  const added = git(`log --diff-filter=A --format=%H -1 -- supabase/migrations/${newest}`)
  // Not committed yet: the release before is the last commit.
  const previous = added ? `${added}^` : 'HEAD'
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  execSync(`git archive ${previous} | tar -x -C '${folder}'`)
  symlinkSync(`${process.cwd()}/node_modules`, join(folder, 'node_modules'))
  expect(readdirSync(join(folder, 'supabase/migrations'))).not.toContain(newest)
  return folder
}

const admin = new URL(process.env.TEST_DATABASE_URL ?? 'postgresql://none')
const execute = async (database: string, statement: string): Promise<postgres.RowList<postgres.Row[]>> => {
  const sql = postgres(new URL(`/${database}`, admin).href, { max: 1, onnotice: () => {} })
  try {
    return await sql.unsafe(statement)
  } finally {
    await sql.end()
  }
}

const ask = async (base: string, token: string, method: string, path: string, body?: unknown): Promise<Response> =>
  await fetch(`${base}${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })

const signUp = async (base: string, name: string): Promise<{ id: number; token: string }> => {
  const answer = await ask(base, '', 'POST', '/auth/signup', {
    name,
    email: `${name}@example.com`,
    password: 'correct horse',
    city: 'Porto',
    is_searchable: true,
  })
  const { user, access_token } = await answer.json()
  return { id: user.id, token: access_token }
}

test(`no request fails while ${newest} is applied under the release before it`, async () => {
  const database = `release_${randomUUID().slice(0, 8)}`
  await execute('postgres', `create database ${database}`)
  const settings = { DATABASE_URL: new URL(`/${database}`, admin).href }
  const before = await startStack(settings, checkOutPrevious())
  onTestFinished(() => stopStack(before.process))
  const people = await Promise.all(['ana', 'ben', 'cleo', 'dov'].map((name) => signUp(before.base, name)))
  const opened = await ask(before.base, people[0]!.token, 'POST', '/conversations', { other_user_id: people[1]!.id })
  const { id: conversation } = await opened.json()

  const failures: string[] = []
  const sent = new Set<number>()
  let [answered, isOver] = [0, false]
  const requests: [method: string, path: string, body?: () => unknown][] = [
    ['POST', `/conversations/${conversation}/messages`, () => ({ content: 'Still there?', client_id: randomUUID() })],
    ['GET', `/conversations/${conversation}/messages?limit=20`],
    ['GET', '/conversations'],
    ['GET', '/conversations/unread'],
    ['GET', '/users/search?q=porto'],
    ['PATCH', '/users/profile', () => ({ biography: `I was here at ${Date.now()}` })],
    ['PATCH', '/users/searchable', () => ({ is_searchable: true })],
    ['GET', '/users/me'],
  ]
  const keepAsking = async (base: string, { token }: { token: string }, start: number): Promise<void> => {
    for (let turn = start; !isOver; turn++) {
      const [method, path, body] = requests[turn % requests.length]!
      const response = await ask(base, token, method, path, body?.())
      const text = await response.text()
      answered++
      if (!response.ok) failures.push(`${method} ${path} answered ${response.status} ${text}`)
      else if (method === 'POST') sent.add(JSON.parse(text).id)
    }
  }
  // The two who take part in the conversation, at every request in turn, twice.
  const visitors = [0, 1, 2, 3].map((start) => keepAsking(before.base, people[start % 2]!, start * 2))

  const earlier = answered
  // A new server applies what the database has not seen, as `supabase db push` does.
  const after = await startStack(settings)
  onTestFinished(() => stopStack(after.process))
  const applied = answered
  visitors.push(...[0, 1].map((start) => keepAsking(after.base, people[start]!, start)))
  await new Promise((resolve) => setTimeout(resolve, 2000))
  isOver = true
  await Promise.all(visitors)

  expect([...new Set(failures)]).toEqual([])
  expect(applied - earlier, 'requests while it was applied').toBeGreaterThan(20)
  expect(answered - applied, 'requests since').toBeGreaterThan(20)
  const versions = await execute(database, 'select version from supabase_migrations.schema_migrations')
  expect(versions.map(({ version }) => version)).toContain(newest.split('_')[0])
  const kept = await execute(database, 'select id::int from public.messages')
  expect(new Set(kept.map(({ id }) => id))).toEqual(sent)
})
