// The inbox with several writers at once, and what a page of a large one reads. Every count here is of pages or rows.
import { readFileSync } from 'node:fs'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../tools/random.ts'
import { platform } from '../tools/supabase.ts'

const connect = () => postgres(platform('inbox'), { max: 1, onnotice: () => {} })
const owner = connect()
afterAll(() => owner.end())

// The same check as in tests/db/inbox/drift.test.sql.
const driftCheck = /create or replace function tests\.inbox_drift\(\)[\s\S]*?\$\$;/.exec(
  readFileSync('tests/db/fixtures.sql', 'utf8'),
)![0]
const drift = () => owner`select * from tests.inbox_drift()`

const makePeople = async (count: number): Promise<number[]> => {
  const made = await owner<{ id: number }[]>`
    insert into public.users (name, email) select 'Person', '' from generate_series(1, ${count}) returning id::int`
  return made.map(({ id }) => id)
}

beforeAll(async () => {
  await owner.unsafe(`create schema tests; ${driftCheck}`)
})

test('after 1,600 actions of eight connections, some rolled back, the inbox is what the messages say', async () => {
  const people = await makePeople(5)
  const talks = await owner<{ id: number; voyager: number; local: number }[]>`
    insert into public.conversations (voyager_id, local_id)
    select one, other from unnest(${people}::bigint[]) as one, unnest(${people}::bigint[]) as other where one < other
    returning id::int, voyager_id::int as voyager, local_id::int as local`
  const tally: Record<string, number> = {}
  let remaining = 1600
  const work = async (seed: number): Promise<void> => {
    const random = seededRandom(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
    const sql = connect()
    const act = async (db: postgres.TransactionSql, kind: string): Promise<void> => {
      const talk = pick(talks)
      await db`select set_config('api.caller', ${`${pick([talk.voyager, talk.local])}`}, true)`
      const [message] = await db<{ id: number }[]>`
        select id::int from public.messages where conversation_id = ${talk.id} order by random() limit 1`
      if (kind === 'send') await db`select api.send_message(${talk.id}, '{"content": "x"}')`
      else if (kind === 'archive' || kind === 'pin') {
        const changes = kind === 'pin' ? { pinned: random() < 0.5 } : { archived: random() < 0.5 }
        await db`select api.set_conversation_state(${talk.id}, ${db.json(changes)})`
      } else if (!message) return
      else if (kind === 'read' || kind === 'read up to') {
        await db`select api.mark_read(
          conversation => ${talk.id}, message => ${message.id}, and_before => ${kind !== 'read'})`
      } else if (kind === 'delete') await db`delete from public.messages where id = ${message.id}`
      else if (kind === 'delete latest') {
        await db`
          delete from public.messages
          where id = (select max(id) from public.messages where conversation_id = ${talk.id})`
      } else await db`update public.messages set read = not read where id = ${message.id}`
    }
    const kinds = ['send', 'send', 'send', 'read', 'read up to', 'archive', 'pin', 'delete', 'delete latest', 'unread']
    while (remaining-- > 0) {
      const kind = pick(kinds)
      const isUndone = random() < 0.15
      const outcome = await sql.begin(async (transaction) => {
        await act(transaction, kind)
        if (isUndone) throw new Error('undone')
        return 'done'
      }).catch((error: Error) => error.message)
      const label = outcome === 'done' || outcome === 'undone' || outcome === 'Message not found' ? outcome : 'failed'
      if (label === 'failed') console.error(kind, outcome)
      tally[label] = (tally[label] ?? 0) + 1
    }
    await sql.end()
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => work(index + 1)))
  // No deadlock, and nothing else that a request would see.
  expect(tally.failed).toBeUndefined()
  expect(tally.done).toBeGreaterThan(800)
  expect(tally.undone).toBeGreaterThan(50)
  expect(await drift()).toEqual([])
  const [counts] = await owner`
    select sum(voyager_unread + local_unread)::int as unread, max(last_message_id)::int as latest
    from private.conversation_activity`
  expect(counts!.unread).toBeGreaterThan(0)
  expect(counts!.latest).toBeGreaterThan(0)
})

/** The pages that an API function reads as this user, with the plans that a connection keeps. */
const pagesOf = async (user: number, call: string): Promise<number> => {
  const sql = connect()
  const statement = `explain (analyze, timing off, buffers, format json) select api.${call}`
  const read = await sql.begin(async (db) => {
    await db`select set_config('api.caller', ${`${user}`}, true)`
    let pages = 0
    // The plans that a connection keeps are made at the sixth call.
    for (let run = 0; run < 8; run++) {
      const [row] = await db.unsafe(statement)
      const [{ Plan: plan }] = row!['QUERY PLAN']
      pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    }
    return pages
  })
  await sql.end()
  return read
}

/** Opens this many conversations with a message each, without events, and puts them into the inboxes. */
const fillInbox = async (user: number, size: number): Promise<void> => {
  const partners = await makePeople(size)
  await owner.begin(async (db) => {
    for (const table of ['conversations', 'messages']) {
      await db.unsafe(`alter table public.${table} disable trigger user`)
    }
    await db`
      insert into public.conversations (voyager_id, local_id)
      select
        case when number % 2 = 0 then ${user}::bigint else id end,
        case when number % 2 = 0 then id else ${user}::bigint end
      from unnest(${partners}::bigint[]) with ordinality as partners (id, number)`
    await db`
      insert into public.messages (conversation_id, user_id, content, read, created_at)
      select id, voyager_id, repeat('word ', 20), id % 5 > 0, timestamptz '2026-02-01' + random() * interval '1 day'
      from public.conversations
      where ${user}::bigint in (voyager_id, local_id)
      order by random()`
    await db`
      insert into private.conversation_activity
        (conversation_id, voyager_id, local_id, last_message_id, active_at, voyager_unread, local_unread,
          voyager_has_written)
      select
        conversations.id, voyager_id, local_id, messages.id, messages.created_at, 0, (not messages.read)::integer, true
      from public.conversations
      join public.messages on messages.conversation_id = conversations.id
      where ${user}::bigint in (voyager_id, local_id)`
    for (const table of ['conversations', 'messages']) {
      await db.unsafe(`alter table public.${table} enable trigger user`)
    }
  })
}

test('a list reads less than five pages a conversation, whole or 50 of an inbox of any size', async () => {
  const [small, middle, large] = await makePeople(3) as [number, number, number]
  for (const [user, size] of [[small, 40], [middle, 600], [large, 10_000]] as const) await fillInbox(user, size)
  await owner.unsafe('analyze public.users, public.conversations, public.messages, private.conversation_activity')
  expect(await drift()).toEqual([])
  const page = 'list_conversations(page_limit => 50, page_offset => 0'
  const list = `${page})`
  const maxPages = 5 * 50
  expect(await pagesOf(small, list)).toBeLessThan(5 * 40)
  expect(await pagesOf(middle, list)).toBeLessThan(maxPages)
  expect(await pagesOf(large, list)).toBeLessThan(maxPages)
  // What a profile shows is beside the partner's name.
  expect(await pagesOf(middle, `${page}, with_partner => true)`)).toBe(await pagesOf(middle, list))
  expect(await pagesOf(large, 'list_conversations(page_limit => null, page_offset => 0)')).toBeLessThan(5 * 10_000)
  // Deep down they read the index before it, too.
  await owner.unsafe('vacuum private.conversation_activity')
  const last = 'list_conversations(page_limit => 50, page_offset => 9900)'
  expect(await pagesOf(large, last)).toBeLessThan(4 * maxPages)

  // The latest 9,000 archived, so that the others begin far down; all muted, and the oldest twenty pinned.
  await owner`
    with ranked as (
      select conversation_id, row_number() over (order by active_at desc) as place
      from private.inbox_entries where user_id = ${large}
    )
    update private.conversation_activity as activity
    set
      voyager_archived_id = case when voyager_id = ${large} then last_message_id end,
      local_archived_id = case when local_id = ${large} then last_message_id end
    from ranked
    where ranked.conversation_id = activity.conversation_id and place <= 9000`
  await owner`
    insert into private.conversation_states (user_id, conversation_id, is_pinned, muted_until)
    select ${large}, conversation_id, row_number() over (order by active_at) <= 20, 'infinity'
    from private.inbox_entries where user_id = ${large}`
  await owner.unsafe('analyze private.conversation_activity, private.conversation_states')
  for (const filter of ['archived => false', 'archived => true', 'pinned_first => true']) {
    expect(await pagesOf(large, `${page}, ${filter})`), filter).toBeLessThan(4 * maxPages)
  }
  expect(await pagesOf(large, `${page}, archived => false, pinned_first => true)`)).toBeLessThan(4 * maxPages)
  const [first] = await owner.begin(async (db) => {
    await db`select set_config('api.caller', ${`${large}`}, true)`
    return await db`select json_array_length(api.list_conversations(
      page_limit => 50, page_offset => 0, archived => false, pinned_first => true)) as length`
  })
  expect(first!.length).toBe(50)
}, 120_000)

test('the unread counts read the conversations that have some, and no others', async () => {
  const [user] = await makePeople(1) as [number]
  await fillInbox(user, 2000)
  await owner`update private.conversation_activity set voyager_unread = 0, local_unread = 0`
  await owner`
    update private.conversation_activity set voyager_unread = 1
    where conversation_id in (
      select conversation_id from private.conversation_activity where voyager_id = ${user} order by 1 limit 10
    )`
  await owner.unsafe('vacuum analyze private.conversation_activity')
  expect(await pagesOf(user, 'count_unread()')).toBeLessThan(40)
})

test('of 30 pins at once over many connections 20 succeed', async () => {
  const [user] = await makePeople(1) as [number]
  await fillInbox(user, 30)
  const talks = await owner<{ id: number }[]>`
    select conversation_id::int as id from private.inbox_entries where user_id = ${user}`
  const connections = Array.from({ length: 10 }, connect)
  const answers = await Promise.all(talks.map(({ id }, index) =>
    connections[index % 10]!.begin(async (db) => {
      await db`select set_config('api.caller', ${`${user}`}, true)`
      await db`select api.set_conversation_state(${id}, '{"pinned": true}')`
      return 'pinned'
    }).catch((error: Error) => error.message)
  ))
  await Promise.all(connections.map((sql) => sql.end()))
  const refusals = answers.filter((answer) => answer !== 'pinned')
  expect(refusals).toHaveLength(10)
  expect(new Set(refusals)).toEqual(new Set(['pinned: you cannot pin more than 20 conversations']))
})
