// The feed of changes with transactions that commit in another order than they began, and after restores.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { seededRandom } from '../tools/random.ts'
import { platform } from '../tools/supabase.ts'

interface Feed {
  changes: { kind: string; conversation_id: number; id: number }[]
  cursor: string
  more: boolean
}

const { url, owner, connect } = await useCopy('changes')

const as = async <Result>(sql: postgres.Sql, person: number, work: (db: postgres.TransactionSql) => Promise<Result>) =>
  await sql.begin(async (db) => {
    await db`select set_config('api.caller', ${`${person}`}, true)`
    return await work(db)
  })
const read = async (sql: postgres.Sql, person: number, after: string | null = null, limit = 100): Promise<Feed> =>
  await as(sql, person, async (db) => {
    const [row] = await db`select api.list_changes(after => ${after}, page_limit => ${limit}) as feed`
    return row!.feed
  })

const makePair = async (sql = owner): Promise<{ id: number; ana: number; ben: number }> => {
  const [ana, ben] = await sql<{ id: number }[]>`
    insert into public.users (name, email) values ('Ana', ''), ('Ben', '') returning id::int`
  const [talk] = await sql<{ id: number }[]>`
    insert into public.conversations (voyager_id, local_id) values (${ana!.id}, ${ben!.id}) returning id::int`
  return { id: talk!.id, ana: ana!.id, ben: ben!.id }
}
const say = async (sql: postgres.Sql, { id, ana }: { id: number; ana: number }, content = 'x'): Promise<number> => {
  const [row] = await sql<{ id: number }[]>`
    insert into public.messages (conversation_id, user_id, content) values (${id}, ${ana}, ${content})
    returning id::int`
  return row!.id
}

/**
 * Four connections commit and roll back transactions of random length in many conversations of one host, while the host
 * reads page after page with two cursors. Returns what was committed and what each cursor has shown, sorted.
 */
const race = async (seed: number, steps: number): Promise<{ committed: number[]; shown: number[][] }> => {
  const pairs = await Promise.all(Array.from({ length: 4 }, () => makePair()))
  const host = pairs[0]!.ben
  for (const { id } of pairs.slice(1)) await owner`update public.conversations set local_id = ${host} where id = ${id}`
  const committed: number[] = []
  const shown: number[][] = [[], []]
  const cursors = [(await read(owner, host)).cursor, (await read(owner, host)).cursor]
  const random = seededRandom(seed)
  const writers = pairs.map(() => connect())
  const open = pairs.map(() => [] as number[])
  for (let step = 0; step < steps; step++) {
    const index = Math.floor(random() * 4)
    const [sql, ids] = [writers[index]!, open[index]!]
    const chance = random()
    if (!ids.length) await sql`begin`
    if (!ids.length || chance < 0.3) ids.push(await say(sql, pairs[index]!))
    else {
      await sql.unsafe(chance < 0.9 ? 'commit' : 'rollback')
      if (chance < 0.9) committed.push(...ids)
      open[index] = []
    }
    const reader = Math.floor(random() * 3)
    if (!cursors[reader]) continue
    const page = await read(owner, host, cursors[reader], 1 + Math.floor(random() * 4))
    cursors[reader] = page.cursor
    shown[reader]!.push(...page.changes.map(({ id }) => id))
  }
  for (const [index, sql] of writers.entries()) {
    if (open[index]!.length) await sql`commit`
    committed.push(...open[index]!)
  }
  for (const reader of [0, 1]) {
    // A mutant may never come to an end.
    for (let pages = 0, more = true; more && pages < 20; pages++) {
      const page = await read(owner, host, cursors[reader])
      cursors[reader] = page.cursor
      shown[reader]!.push(...page.changes.map(({ id }) => id))
      more = page.more || page.changes.length > 0
    }
  }
  const sorted = (ids: number[]) => ids.toSorted((one, other) => one - other)
  return { committed: sorted(committed), shown: shown.map(sorted) }
}

test.each([1, 2])(
  'each committed change is shown exactly once, whatever the order of commits (seed %i)',
  async (seed) => {
    const { committed, shown } = await race(seed, 180)
    expect(committed.length).toBeGreaterThan(40)
    expect(shown).toEqual([committed, committed])
  },
)

test('nobody waits for a transaction that stays open, and its change comes when it commits', async () => {
  const pair = await makePair()
  const late = connect()
  const { cursor } = await read(owner, pair.ben)
  await late`begin`
  const other = await makePair(late)
  const second = await say(late, other)
  const first = await say(owner, pair)
  const page = await read(owner, pair.ben, cursor)
  expect(page.changes).toEqual([{ kind: 'message', conversation_id: pair.id, id: first }])
  const before = await read(owner, other.ben)
  await late`commit`
  expect((await read(owner, other.ben, before.cursor)).changes.map(({ id }) => id)).toEqual([other.id, second])
  expect((await read(owner, pair.ben, page.cursor)).changes).toEqual([])
})

test('with more running transactions than a cursor names, changes are shown once all the same', async () => {
  const pair = await makePair()
  const many = Array.from({ length: 105 }, () => connect())
  await Promise.all(many.map((sql) => sql`begin`))
  let { cursor } = await read(owner, pair.ben)
  for (const sql of many) await sql`select pg_current_xact_id()`
  const sent = await say(owner, pair)
  const shown: number[] = []
  const next = async () => {
    const page = await read(owner, pair.ben, cursor)
    expect(page.cursor.length).toBeLessThan(4000)
    cursor = page.cursor
    shown.push(...page.changes.map(({ id }) => id))
  }
  await next()
  await next()
  await Promise.all(many.map((sql) => sql`commit`))
  await next()
  await next()
  expect(shown).toEqual([sent])
}, 30_000)

test.each([
  // What is still running counts as seen.
  [
    'api.list_changes',
    'private.bounded_snapshot(pg_current_snapshot(), 100)',
    "(pg_snapshot_xmax(pg_current_snapshot()) || ':' || pg_snapshot_xmax(pg_current_snapshot()) || ':')::pg_snapshot",
  ],
  // By transaction id alone.
  ['private.changes_between', 'and not pg_visible_in_snapshot(xid, seen)\n', '\n'],
  // A page of what is visible by then.
  ['api.list_changes', 'cursor.target := coalesce(cursor.target, present)', 'cursor.target := present'],
])('a mutant of %s without `%s` loses or repeats changes', async (name, from, to) => {
  const [row] = await owner`select pg_get_functiondef(${name}::regproc) as source`
  const source: string = row!.source
  expect(source).toContain(from)
  await owner.unsafe(source.replaceAll(from, to))
  try {
    let isCaught = false
    for (const seed of [1, 2, 3]) {
      // A cursor that has skipped the owner's newest change is refused.
      isCaught = await race(seed, 180).then(
        ({ committed, shown }) => shown.some((ids) => `${ids}` !== `${committed}`),
        ({ code }) => code === 'PT410',
      )
      if (isCaught) break
    }
    expect(isCaught).toBe(true)
  } finally {
    await owner.unsafe(source)
  }
}, 60_000)

const bin = `${process.env.PREFIX}/usr/lib/postgresql/17/bin`
const gone = /read everything anew/

test('after a restore earlier cursors are refused, and what the dump brought along is not repeated', async () => {
  const pair = await makePair()
  const { cursor } = await read(owner, pair.ben)
  await say(owner, pair)
  await owner`create database restored_changes`.catch(() => {})
  await promisify(execFile)('bash', [
    '-euc',
    `${bin}/pg_dump --format=custom ${url('supabase_admin')} |
      ${bin}/pg_restore --exit-on-error --dbname=${platform('restored_changes', 'supabase_admin')}`,
  ])
  const restored = postgres(platform('restored_changes'), { max: 1, onnotice: () => {} })
  onTestFinished(() => restored.end())
  // As in a cluster of its own, where the dumped ids are ahead of the cluster's, or long past.
  for (const shift of ['0', '9999999999']) {
    await restored.begin(async (db) => {
      await db`update private.changes set xid = ((xid::text::bigint + ${shift}) % 20000000000)::text::xid8`
    })
    await expect(read(restored, pair.ben, cursor)).rejects.toThrow(gone)
    const start = await read(restored, pair.ben)
    expect(start.changes).toEqual([])
    const sent = await say(restored, pair)
    const page = await read(restored, pair.ben, start.cursor)
    expect(page.changes.map(({ id }) => id)).toEqual([sent])
    expect((await read(restored, pair.ben, page.cursor)).changes).toEqual([])
    await restored`delete from private.changes where entity_id = ${sent}`
  }
  expect((await read(owner, pair.ben, cursor)).changes).toHaveLength(1)
})

test('a copy of the files that goes on by itself refuses cursors of what it has never seen', async () => {
  const pair = await makePair()
  await say(owner, pair)
  const { cursor } = await read(owner, pair.ben)
  const lost = await say(owner, pair)
  const after = await read(owner, pair.ben, cursor)
  // What a copy from between the two looks like: the last message was never sent, and its transaction id was used
  // again.
  const [row] = await owner`select id, xid::text as xid from private.changes where entity_id = ${lost}`
  await owner`delete from private.changes where id = ${row!.id}`
  await expect(read(owner, pair.ben, after.cursor)).rejects.toThrow(gone)
  await owner`
    insert into private.changes (xid, user_id, other_id, kind, conversation_id, entity_id)
    values (${row!.xid}::xid8, ${pair.ana}, ${pair.ben}, 'message', ${pair.id}, ${lost})`
  await expect(read(owner, pair.ben, after.cursor)).rejects.toThrow(gone)
  expect((await read(owner, pair.ben, cursor)).changes.map(({ id }) => id)).toEqual([lost])
})
