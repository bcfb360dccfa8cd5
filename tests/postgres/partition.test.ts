// npm run partition on a database in use.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { makeDatabase } from '../tools/postgres.ts'
import { platform } from '../tools/supabase.ts'

const parts = platform('parts')
const connect = () => postgres(parts, { max: 1, onnotice: () => {} })
const owner = connect()
afterAll(() => owner.end())

/** Statements of the one user, one after the other, on a connection of their own; and the longest that one took. */
const become = (user: number) => {
  const sql = connect()
  const session = {
    longest: 0,
    ask: async (call: string, ...values: (string | number | null)[]) => {
      const began = performance.now()
      const [row] = await sql.begin(async (db) => {
        await db`select set_config('api.caller', ${`${user}`}, true)`
        return await db.unsafe(`select api.${call} as answer`, values)
      })
      session.longest = Math.max(session.longest, performance.now() - began)
      return row!.answer
    },
  }
  onTestFinished(() => sql.end())
  return session
}

/** Runs the script to its end, or until it has printed this, when it is killed. Returns what it printed. */
const partition = async (url: string, until?: RegExp, ...flags: string[]): Promise<string> => {
  const script = spawn('node', ['scripts/partition/main.mjs', url, ...flags])
  let output = ''
  for (const stream of [script.stdout, script.stderr]) {
    stream.on('data', (data) => {
      output += data
      if (until?.test(output)) script.kill('SIGKILL')
    })
  }
  await once(script, 'close')
  // The last statement of one that was killed goes on to its end.
  return /Another run/.test(output) ? await partition(url, until, ...flags) : output
}
const relationKind = async (sql = owner): Promise<string> => {
  const [row] = await sql`select relkind::text as kind from pg_class where oid = 'private.changes'::regclass`
  return row!.kind
}

test('while people send and read, and it is killed again and again, no change is lost or comes twice', async () => {
  const people = await owner<{ id: number }[]>`
    insert into public.users (name, email) select 'Ana', '' from generate_series(1, 5) returning id::int`
  const [host, ...guests] = people.map(({ id }) => id)
  const conversations = await owner<{ id: number; voyager: number }[]>`
    insert into public.conversations (voyager_id, local_id)
    select unnest(${guests}::bigint[]), ${host!}
    returning id::int, voyager_id::int as voyager`
  // Every eleventh row is deleted meanwhile, in forty pieces that lie everywhere.
  await owner`
    insert into private.changes (user_id, kind, conversation_id, entity_id)
    select case when number % 11 > 0 then -1 else -2 - number / 11 % 40 end, 'state', 1, number
    from generate_series(1, 330000) as number`

  const sent: number[] = []
  let isOver = false
  let isRead = false
  const sessions: ReturnType<typeof become>[] = []
  const open = (user: number) => {
    const session = become(user)
    sessions.push(session)
    return session
  }
  const send = async ({ id, voyager }: { id: number; voyager: number }) => {
    const { ask } = open(voyager)
    while (!isOver) {
      const answer = await ask('send_message($1, $2::text::jsonb)', id, JSON.stringify({ content: 'Hello' }))
      sent.push(answer.id)
      await sleep(5)
    }
  }
  const follow = async (
    cursor: string,
    ask: ReturnType<typeof become>['ask'],
    seen: number[],
  ) => {
    for (let wasOver = false, more = true; !wasOver || more;) {
      wasOver = isRead
      const page = await ask('list_changes(after => $1, page_limit => 100)', cursor)
      more = page.more
      cursor = page.cursor
      seen.push(...page.changes.map((change: { id: number }) => change.id))
    }
  }
  const readers = [open(host!), open(host!)]
  const { cursor } = await readers[0]!.ask('list_changes(after => $1, page_limit => 100)', null)
  const seen: number[][] = [[], [], []]
  const senders = conversations.map(send)
  const following = readers.map(({ ask }, index) => follow(cursor, ask, seen[index]!))
  const erase = async (first: number, last: number) => {
    for (let piece = first; piece <= last; piece++) await owner`delete from private.changes where user_id = ${-piece}`
  }

  // Who has written and takes long is waited for, but keeps nobody else waiting.
  const linger = async () => {
    const sql = connect()
    while (!isOver) {
      await sql.begin(async (db) => {
        await db`insert into private.changes (user_id, kind, conversation_id, entity_id) values (-99, 'state', 1, 1)`
        await sleep(3000)
        await db`rollback`
      })
      await sleep(600)
    }
    await sql.end()
  }
  const lingering = linger()

  const copied = async (): Promise<number> => {
    const [row] = await owner`select count(*)::int as count from private.partitioned_changes where user_id = -1`
    return row!.count
  }
  expect(await partition(parts, /parts beside/)).toMatch(/parts beside/)
  expect(await partition(parts, /pages to copy/)).toMatch(/pages to copy/)
  const copiedFirst = await copied()
  await erase(2, 10)
  const erased = erase(11, 41)
  expect(await partition(parts, /the same in both/)).toMatch(/the same in both/)
  expect(await copied()).toBe(300_000)
  expect(await relationKind()).toBe('r')
  await erased
  expect(await partition(parts)).toMatch(/private.changes is partitioned/)
  await sleep(1000)
  isOver = true
  await Promise.all(senders)
  isRead = true
  await Promise.all([...following, lingering])

  expect(await relationKind()).toBe('p')
  expect(copiedFirst).toBeGreaterThan(0)
  expect(copiedFirst).toBeLessThan(300_000)
  // A cursor from before, on a connection that has not seen the old table.
  await follow(cursor, open(host!).ask, seen[2]!)
  const inOrder = (ids: number[]) => ids.toSorted((one, other) => one - other)
  expect(sent.length).toBeGreaterThan(500)
  for (const ids of seen) expect(inOrder(ids)).toEqual(inOrder(sent))
  const [rows] = await owner`
    select
      count(*) filter (where user_id = -1)::int as kept,
      count(*) filter (where user_id < -1)::int as erased,
      count(*) - count(distinct id) as repeated
    from private.changes`
  expect(rows).toEqual({ kept: 300_000, erased: 0, repeated: '0' })
  expect(Math.max(...sessions.map(({ longest }) => longest))).toBeLessThan(1000)
})

test('it can be given up, and begun again', async () => {
  const url = platform('parts_given_up')
  const admin = postgres(platform('postgres', 'supabase_admin'), { max: 1 })
  await admin`create database parts_given_up template scripted owner postgres`
  await admin.end()
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  onTestFinished(() => sql.end())
  const catalogue = async () => {
    const rows = await sql`
      select relname::text as name from pg_class where relnamespace = 'private'::regnamespace
      union all select proname from pg_proc where pronamespace = 'private'::regnamespace
      union all select tgname from pg_trigger where not tgisinternal
      order by name`
    return rows.map(({ name }) => name)
  }
  const before = await catalogue()
  await sql`
    insert into private.changes (user_id, kind, conversation_id, entity_id)
    select 1, 'state', 1, number from generate_series(1, 1000) as number`
  // Somebody who has written keeps the triggers from being made, and waits for nobody.
  await sql.begin(async (db) => {
    await db`insert into private.changes (user_id, kind, conversation_id, entity_id) values (1, 'state', 1, 0)`
    await partition(url, /parts beside/)
  })
  expect(await catalogue()).not.toEqual(before)
  expect(await partition(url, undefined, '--give-up')).toMatch(/as it was/)
  expect(await catalogue()).toEqual(before)
  expect(await partition(url)).toMatch(/1001 rows, the same in both tables/)
  await sql`drop table private.unpartitioned_changes cascade`
  expect((await sql`select from private.changes`).length).toBe(1001)
})

test('parts are made ahead, and dropped once all in them is older than 31 days', async () => {
  await owner`drop table if exists private.unpartitioned_changes cascade`
  const log = async (days: number, xid: string | null = null) =>
    await owner`
      insert into private.changes (xid, user_id, kind, conversation_id, entity_id, created_at)
      values (
        coalesce(${xid}::text::xid8, pg_current_xact_id()), -3, 'state', 1, ${days},
        now() - interval '1 day' * ${days}
      )`
  const left = async () => {
    const rows = await owner`select entity_id::int as days from private.changes where user_id = -3 order by xid, id`
    return rows.map(({ days }) => days)
  }
  const count = async () => (await owner`select from private.changes_parts()`).length
  const late = connect()
  onTestFinished(() => late.end())
  await late`begin`
  const [old] = await late`select pg_current_xact_id()::text as xid`
  await owner`delete from private.changes`
  await owner`select private.cut_changes(1)`
  for (const days of [40, 33, 32, 5, 0]) {
    for (let turn = 0; turn < 5; turn++) {
      await log(days)
      await owner`select private.cut_changes(1)`
    }
  }
  const before = await count()
  expect(before).toBeGreaterThan(8)
  await owner`select private.forget_changes()`
  expect(new Set(await left())).toEqual(new Set([5, 0]))
  expect(await count()).toBeLessThan(before)
  expect(await owner`select private.forget_changes() as parts`).toEqual([{ parts: 0 }])

  // What is older than the parts finds its place, in this cluster and in one in which the dump was restored.
  await late`
    insert into private.changes (user_id, kind, conversation_id, entity_id) values (-3, 'state', 1, 1)`
  await late`commit`
  await log(2, '3')
  await log(50, `${BigInt(old!.xid) + 9_000_000_000n}`)
  expect((await left()).slice(0, 1)).toEqual([2])
  expect((await left()).slice(-1)).toEqual([50])
  await owner`select private.forget_changes()`
  expect(await left()).not.toContain(50)
  expect(await left()).toContain(2)
})

test('sending, the lists, the feed, erasing and the export are as before', async () => {
  const url = await makeDatabase('parts_tap')
  const run = async (...names: string[]): Promise<string[]> => {
    const env = { ...process.env, DATABASE_URL: url }
    const deno = ['run', '-A', 'tests/db/run.ts', ...names]
    const { stdout } = await promisify(execFile)('node_modules/.bin/deno', deno, { env, maxBuffer: 1e8 })
    const output: Record<string, string[]> = JSON.parse(stdout.slice(stdout.lastIndexOf('\n{') + 1))
    return Object.values(output).flat()
  }
  const results = (lines: string[], kind: string) => lines.filter((line) => line.startsWith(`${kind} `))
  expect(results(await run('changes'), 'not ok')).toEqual([])
  expect(await partition(url)).toMatch(/is partitioned/)
  const after = await run('messages', 'changes', 'conversations', 'inbox', 'privacy/e')
  expect(results(after, 'ok').length).toBeGreaterThan(100)
  // A part is dropped as a whole.
  expect(results(after, 'not ok').join()).toMatch(/^not ok \d+ - what is older than 31 days is forgotten$/)
})
