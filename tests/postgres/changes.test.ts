// The feed of changes with transactions that commit in another order than they began, and after restores.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { seededRandom } from '../tools/random.ts'
import { platform } from '../tools/supabase.ts'

const { url, owner, connect } = await useCopy('changes')

type Feed = { changes: { id: number }[]; cursor: string }
const read = async (person: number, after: string | null, sql = owner, limit = 100): Promise<Feed> =>
  await sql.begin(async (db) => {
    await db`select set_config('api.caller', ${`${person}`}, true)`
    const [row] = await db`select api.list_changes(after => ${after}, page_limit => ${limit}) as feed`
    return row!.feed
  })
/** Somebody who reads page after page, from now on; `next` returns the ids of its page. */
const follow = async (person: number, sql = owner) => {
  const reader = { cursor: (await read(person, null, sql)).cursor, seen: [] as number[] }
  const next = async (limit = 100): Promise<number[]> => {
    const { changes, cursor } = await read(person, reader.cursor, sql, limit)
    reader.cursor = cursor
    const ids = changes.map(({ id }) => id)
    reader.seen.push(...ids)
    return ids
  }
  return Object.assign(reader, { next })
}

type Pair = { id: number; ana: number; ben: number }
const makePair = async (sql = owner): Promise<Pair> => {
  const [pair] = await sql<Pair[]>`
    with people as (insert into public.users (name, email) values ('Ana', ''), ('Ben', '') returning id)
    insert into public.conversations (voyager_id, local_id) select min(id), max(id) from people
    returning id::int, voyager_id::int as ana, local_id::int as ben`
  return pair!
}
const say = async ({ id, ana }: Pair, sql = owner): Promise<number> => {
  const [row] = await sql<{ id: number }[]>`
    insert into public.messages (conversation_id, user_id, content) values (${id}, ${ana}, 'x') returning id::int`
  return row!.id
}
const sorted = (ids: number[]): number[] => ids.toSorted((one, other) => one - other)

test.each([1, 2, 3])('each change is shown once, whatever the order of commits (seed %i)', async (seed) => {
  // Four connections commit and roll back transactions of random length in conversations of one host, who reads
  // meanwhile with two cursors.
  const pairs = await Promise.all([makePair(), makePair(), makePair(), makePair()])
  const host = pairs[0]!.ben
  for (const { id } of pairs.slice(1)) await owner`update public.conversations set local_id = ${host} where id = ${id}`
  const writers = pairs.map((pair) => ({ pair, sql: connect(), open: [] as number[] }))
  const readers = [await follow(host), await follow(host)]
  const committed: number[] = []
  const end = async (writer: typeof writers[number], how: 'commit' | 'rollback') => {
    await writer.sql.unsafe(how)
    if (how === 'commit') committed.push(...writer.open)
    writer.open = []
  }
  const random = seededRandom(seed)
  for (let step = 0; step < 180; step++) {
    const [writer, chance] = [writers[Math.floor(random() * 4)]!, random()]
    if (writer.open.length === 0) await writer.sql`begin`
    if (writer.open.length === 0 || chance < 0.3) writer.open.push(await say(writer.pair, writer.sql))
    else await end(writer, chance < 0.9 ? 'commit' : 'rollback')
    await readers[Math.floor(random() * 3)]?.next(1 + Math.floor(random() * 4))
  }
  for (const writer of writers) if (writer.open.length > 0) await end(writer, 'commit')
  expect(committed.length).toBeGreaterThan(40)
  for (const { next, seen } of readers) {
    // Not without end, if one day a page is shown again and again.
    for (let pages = 0; pages < 20 && (await next()).length > 0; pages++);
    expect(sorted(seen)).toEqual(sorted(committed))
  }
})

test('nobody waits for a transaction that stays open, and its change comes when it commits', async () => {
  const pair = await makePair()
  const late = connect()
  const { next } = await follow(pair.ben)
  await late`begin`
  const other = await makePair(late)
  const second = await say(other, late)
  const first = await say(pair)
  expect(await next()).toEqual([first])
  const ofOther = await follow(other.ben)
  await late`commit`
  expect(await ofOther.next()).toEqual([other.id, second])
  expect(await next()).toEqual([])
})

test('with more running transactions than a cursor names, changes are shown once all the same', async () => {
  const pair = await makePair()
  const many = Array.from({ length: 105 }, () => connect())
  await Promise.all(many.map((sql) => sql`begin`))
  const reader = await follow(pair.ben)
  for (const sql of many) await sql`select pg_current_xact_id()`
  const sent = await say(pair)
  for (let page = 0; page < 4; page++) {
    await reader.next()
    expect(reader.cursor.length).toBeLessThan(4000)
    if (page === 1) await Promise.all(many.map((sql) => sql`commit`))
  }
  expect(reader.seen).toEqual([sent])
})

const gone = /read everything anew/

test('after a restore earlier cursors are refused, and what the dump brought along is not repeated', async () => {
  const pair = await makePair()
  const { cursor, next } = await follow(pair.ben)
  const before = await say(pair)
  await owner`create database restored_changes`
  const bin = `${process.env.PREFIX}/usr/lib/postgresql/17/bin`
  const target = platform('restored_changes', 'supabase_admin')
  await promisify(execFile)('bash', [
    '-euc',
    `${bin}/pg_dump --format=custom ${url('supabase_admin')} | ${bin}/pg_restore --exit-on-error --dbname=${target}`,
  ])
  const restored = postgres(platform('restored_changes'), { max: 1, onnotice: () => {} })
  onTestFinished(() => restored.end())
  // As in a cluster of its own, where the dumped ids are ahead of the cluster's, or long past.
  for (const shift of ['0', '9999999999']) {
    await restored`update private.changes set xid = ((xid::text::bigint + ${shift}) % 20000000000)::text::xid8`
    await expect(read(pair.ben, cursor, restored)).rejects.toThrow(gone)
    const anew = await follow(pair.ben, restored)
    expect(await anew.next()).toEqual([])
    const sent = await say(pair, restored)
    expect([await anew.next(), await anew.next()]).toEqual([[sent], []])
    await restored`delete from private.changes where entity_id = ${sent}`
  }
  expect(await next()).toEqual([before])
})

test('a copy of the files that goes on by itself refuses cursors of what it has never seen', async () => {
  const pair = await makePair()
  await say(pair)
  const reader = await follow(pair.ben)
  const { cursor } = reader
  const lost = await say(pair)
  await reader.next()
  // What a copy from between the two looks like: the last message was never sent, and its transaction id was used
  // again.
  const [row] = await owner`delete from private.changes where entity_id = ${lost} returning xid::text as xid`
  await expect(read(pair.ben, reader.cursor)).rejects.toThrow(gone)
  await owner`
    insert into private.changes (xid, user_id, other_id, kind, conversation_id, entity_id)
    values (${row!.xid}::xid8, ${pair.ana}, ${pair.ben}, 'message', ${pair.id}, ${lost})`
  await expect(read(pair.ben, reader.cursor)).rejects.toThrow(gone)
  expect((await read(pair.ben, cursor)).changes.map(({ id }) => id)).toEqual([lost])
})
