// npm run partition on a database in use.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'

const { owner, connect, url } = await useCopy('parts')
const givenUp = await useCopy('parts_given_up')

/** Runs the script to its end, or until it has printed this, when it is killed. Returns what it printed. */
const partition = async (database: string, until?: RegExp, ...flags: string[]): Promise<string> => {
  const script = spawn('node', ['scripts/partition/main.mjs', database, ...flags])
  let output = ''
  for (const stream of [script.stdout, script.stderr]) {
    stream.on('data', (data) => {
      output += data
      if (until?.test(output)) script.kill('SIGKILL')
    })
  }
  await once(script, 'close')
  // The last statement of one that was killed goes on to its end.
  return /Another run/.test(output) ? await partition(database, until, ...flags) : output
}

test('while people send and read, and it is killed again and again, no change is lost or comes twice', async () => {
  const people = await owner<{ id: number }[]>`
    insert into public.users (name, email) select 'Ana', '' from generate_series(1, 5) returning id::int`
  const [host, ...guests] = people.map(({ id }) => id) as [number, ...number[]]
  const talks = await owner<{ id: number; voyager: number }[]>`
    insert into public.conversations (voyager_id, local_id) select unnest(${guests}::bigint[]), ${host}
    returning id::int, voyager_id::int as voyager`
  // Every eleventh row is deleted meanwhile, in forty pieces that lie everywhere.
  await owner`
    insert into private.changes (user_id, kind, conversation_id, entity_id)
    select case when number % 11 > 0 then -1 else -2 - number / 11 % 40 end, 'state', 1, number
    from generate_series(1, 330000) as number`

  let [isOver, isRead] = [false, false]
  /** Statements of one user, one after the other, on a connection of their own. */
  const become = (user: number) => {
    const sql = connect()
    return async (call: string, ...values: (string | number | null)[]) => {
      await sql`select set_config('api.caller', ${`${user}`}, false)`
      return (await sql.unsafe(`select api.${call} as answer`, values))[0]!.answer
    }
  }
  const sent: number[] = []
  const send = async ({ id, voyager }: { id: number; voyager: number }) => {
    for (const ask = become(voyager); !isOver; await sleep(5)) {
      sent.push((await ask(`send_message($1, '{"content": "Hello"}')`, id)).id)
    }
  }
  const feed = 'list_changes(after => $1, page_limit => 100)'
  const follow = async (cursor: string): Promise<number[]> => {
    const [ask, seen] = [become(host), [] as number[]]
    for (let wasOver = false, more = true; !wasOver || more;) {
      wasOver = isRead
      const page = await ask(feed, cursor)
      ;({ more, cursor } = page)
      seen.push(...page.changes.map(({ id }: { id: number }) => id))
    }
    return seen.toSorted((one, other) => one - other)
  }
  const erase = async () => {
    for (let piece = 2; piece <= 41; piece++) await owner`delete from private.changes where user_id = ${-piece}`
  }
  const { cursor } = await become(host)(feed, null)
  const writing = talks.map(send)
  const reading = [follow(cursor), follow(cursor)]

  for (const step of [/parts beside/, /pages to copy/]) expect(await partition(url(), step)).toMatch(step)
  const erased = erase()
  expect(await partition(url(), /the same in both/)).toMatch(/the same in both/)
  await erased
  expect(await partition(url())).toMatch(/private.changes is partitioned/)
  isOver = true
  await Promise.all(writing)
  isRead = true
  sent.sort((one, other) => one - other)
  expect(sent.length).toBeGreaterThan(100)
  // The last one with a cursor from before, on a connection that has not seen the old table.
  for (const seen of [...await Promise.all(reading), await follow(cursor)]) expect(seen).toEqual(sent)
  const [rows] = await owner`
    select count(*)::int as kept, count(distinct id)::int as ids from private.changes where user_id < 0`
  expect(rows).toEqual({ kept: 300_000, ids: 300_000 })

  // Parts are made ahead, and dropped once all in them is older than 31 days.
  const parts = async () => (await owner`select from private.changes_parts()`).length
  await owner`delete from private.changes`
  await owner`select private.cut_changes(1)`
  for (const days of [40, 33, 32, 5, 0]) {
    for (let turn = 0; turn < 5; turn++) {
      await owner`
        insert into private.changes (user_id, kind, conversation_id, entity_id, created_at)
        values (-3, 'state', 1, ${days}, now() - interval '1 day' * ${days})`
      await owner`select private.cut_changes(1)`
    }
  }
  const before = await parts()
  await owner`select private.forget_changes()`
  const left = await owner`select distinct entity_id::int as days from private.changes where user_id = -3 order by 1`
  expect(left.map(({ days }) => days)).toEqual([0, 5])
  expect(await parts()).toBeLessThan(before)
})

test('it can be given up, and begun again', async () => {
  const sql = givenUp.owner
  const names = async () =>
    (await sql`
      select relname::text as name from pg_class where relnamespace = 'private'::regnamespace
      union all select proname from pg_proc where pronamespace = 'private'::regnamespace
      union all select tgname from pg_trigger where not tgisinternal
      order by name`).map(({ name }) => name)
  const before = await names()
  await sql`
    insert into private.changes (user_id, kind, conversation_id, entity_id)
    select 1, 'state', 1, number from generate_series(0, 1000) as number`
  await partition(givenUp.url(), /parts beside/)
  expect(await names()).not.toEqual(before)
  expect(await partition(givenUp.url(), undefined, '--give-up')).toMatch(/as it was/)
  expect(await names()).toEqual(before)
  expect(await partition(givenUp.url())).toMatch(/1001 rows, the same in both tables/)
})
