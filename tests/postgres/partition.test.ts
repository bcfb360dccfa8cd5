// npm run partition on a database in use.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'

const { owner, connect, url } = await useCopy('parts')

/** Runs the script to its end, or until it has printed this, when it is killed, and expects that it printed it. */
const partition = async (wanted: RegExp, isKilled = false, ...flags: string[]): Promise<void> => {
  const script = spawn('node', ['scripts/partition/main.mjs', url(), ...flags])
  let output = ''
  for (const stream of [script.stdout, script.stderr]) {
    stream.on('data', (data) => {
      output += data
      if (isKilled && wanted.test(output)) script.kill('SIGKILL')
    })
  }
  await once(script, 'close')
  // The last statement of one that was killed goes on to its end.
  if (/Another run/.test(output)) return await partition(wanted, isKilled, ...flags)
  expect(output).toMatch(wanted)
}

test('while people send and read, and it is given up and killed, no change is lost or comes twice', async () => {
  const [talk] = await owner`
    with people as (insert into public.users (name, email) values ('Ana', ''), ('Ben', '') returning id)
    insert into public.conversations (voyager_id, local_id) select min(id), max(id) from people
    returning id::int, voyager_id::int as ana, local_id::int as ben`
  const { id, ana, ben } = talk as unknown as Record<'id' | 'ana' | 'ben', number>
  const fill = (rows: number) =>
    owner`
      insert into private.changes (user_id, kind, conversation_id, entity_id)
      select -1, 'state', 1, number from generate_series(1, ${rows}) as number`
  let [isOver, isRead] = [false, false]
  const become = async (user: number) => {
    const sql = connect()
    await sql`select set_config('api.caller', ${`${user}`}, false)`
    return async (call: string, value: string | number | null) =>
      (await sql.unsafe(`select api.${call} as answer`, [value]))[0]!.answer
  }
  const sent: number[] = []
  const send = async () => {
    for (const ask = await become(ana); !isOver; await sleep(5)) {
      sent.push((await ask(`send_message($1, '{"content": "Hello"}')`, id)).id)
    }
  }
  const feed = 'list_changes(after => $1, page_limit => 100)'
  const follow = async (cursor: string): Promise<number[]> => {
    const [ask, seen] = [await become(ben), [] as number[]]
    for (let wasOver = false, more = true; !wasOver || more;) {
      wasOver = isRead
      const page = await ask(feed, cursor)
      ;({ more, cursor } = page)
      seen.push(...page.changes.map(({ id }: { id: number }) => id))
    }
    return seen.toSorted((one, other) => one - other)
  }
  const count = async (): Promise<number> => (await owner`select from private.changes where user_id = -1`).length
  await fill(1000)
  await partition(/parts beside/, true)
  await partition(/as it was/, false, '--give-up')
  expect(await count()).toBe(1000)

  await fill(99_000)
  const { cursor } = await (await become(ben))(feed, null)
  const [sending, reading] = [send(), follow(cursor)]
  for (const step of [/parts beside/, /pages to copy/, /the same in both/]) await partition(step, true)
  await partition(/private.changes is partitioned/)
  isOver = true
  await sending
  isRead = true
  expect(sent.length).toBeGreaterThan(50)
  // The last one with a cursor from before, on a connection that has not seen the old table.
  expect([await reading, await follow(cursor)]).toEqual([sent, sent])
  expect(await count()).toBe(100_000)

  // Parts are made ahead, and dropped once all in them is older than 31 days.
  await owner`delete from private.changes`
  for (const days of [40, 40, 33, 33, 32, 32, 5, 5, 0]) {
    await owner`select private.cut_changes(1)`
    await owner`
      insert into private.changes (user_id, kind, conversation_id, entity_id, created_at)
      values (-3, 'state', 1, ${days}, now() - interval '1 day' * ${days})`
  }
  await owner`select private.cut_changes(1)`
  await owner`select private.forget_changes()`
  const left = await owner`select distinct entity_id::int as days from private.changes where user_id = -3 order by 1`
  expect(left.map(({ days }) => days)).toEqual([0, 5])
}, 120_000)
