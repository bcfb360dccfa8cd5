// What a page of the inbox or of the feed of changes costs, however much there is. In pages of the database, so it is
// the same on every machine.
import { expect, test, vi } from 'vitest'
import { useCopy } from '../tools/copies.ts'

const { owner, connect } = await useCopy('paged')

const addPeople = async (count: number): Promise<number[]> => {
  const people = await owner<{ id: number }[]>`
    insert into public.users (name, email) select 'Person', '' from generate_series(1, ${count}) returning id::int`
  return people.map(({ id }) => id)
}

/** Asks for something as this user, and returns it with the pages of the database that were read for it. */
const readAs = (user: number, call: string) =>
  connect().begin(async (db) => {
    await db`select set_config('api.caller', ${`${user}`}, true)`
    let pages = 0
    // The plans that a connection keeps are made at the sixth call.
    for (let run = 0; run < 8; run++) {
      const [row] = await db.unsafe(`explain (analyze, timing off, buffers, format json) select api.${call}`)
      const [{ Plan: plan }] = row!['QUERY PLAN']
      pages = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    }
    return { pages, answer: (await db.unsafe(`select api.${call} as answer`))[0]!.answer }
  })
const pagesOf = async (user: number, call: string): Promise<number> => (await readAs(user, call)).pages

/** Opens this many conversations with a message each, without events, and puts them into the inboxes. */
const fillInbox = async (user: number, size: number): Promise<void> => {
  const partners = await addPeople(size)
  await owner`insert into public.profiles (user_id, is_searchable) select unnest(${partners}::bigint[]), true`
  await owner`
    insert into public.conversations (voyager_id, local_id)
    select case when n % 2 = 0 then ${user}::bigint else id end, case when n % 2 = 0 then id else ${user}::bigint end
    from unnest(${partners}::bigint[]) with ordinality as partners (id, n)`
  await owner`
    insert into public.messages (conversation_id, user_id, content, read, created_at)
    select id, voyager_id, repeat('word ', 20), id % 5 > 0, timestamptz '2026-02-01' + random() * interval '1 day'
    from public.conversations
    where ${user}::bigint in (voyager_id, local_id)
    order by random()`
  await owner`
    insert into private.inbox_entries (conversation_id, user_id, last_message_id, active_at, unread, has_written)
    select
      talks.id, person, messages.id, messages.created_at, (person = local_id and not messages.read)::integer,
      person = voyager_id
    from public.conversations as talks join public.messages on messages.conversation_id = talks.id
    cross join unnest(array[voyager_id, local_id]) as person
    where ${user}::bigint in (voyager_id, local_id)`
}

test('a list reads less than five pages a conversation, whole or 50 of an inbox of any size', async () => {
  const [small, middle, large] = await addPeople(3) as [number, number, number]
  for (const table of ['profiles', 'conversations', 'messages']) {
    await owner.unsafe(`alter table public.${table} disable trigger user`)
  }
  // While it looks at rows, no index forgets those that are gone.
  await owner.unsafe('alter table private.inbox_entries set (autovacuum_enabled = false)')
  for (const [user, size] of [[small, 40], [middle, 600], [large, 10_000]] as const) await fillInbox(user, size)
  await owner.unsafe(
    'analyze public.users, public.profiles, public.conversations, public.messages, private.inbox_entries',
  )
  const page = (limit: number | null, offset: number, filter = '') =>
    `list_conversations(page_limit => ${limit}, page_offset => ${offset}, emails => 'always'${filter})`
  const list = (filter = '') => page(50, 0, filter)
  const limit = 5 * 50
  const costs = [await pagesOf(small, list()), await pagesOf(middle, list()), await pagesOf(large, list())] as const
  expect(costs[0]).toBeLessThan(5 * 40)
  expect(Math.max(...costs)).toBeLessThan(limit)
  // The partners' profiles are asked for, and cost what one more table costs.
  expect(await pagesOf(middle, list(', with_partner => true'))).toBeLessThan(costs[1] + 2 * 50)
  expect(await pagesOf(large, page(null, 0))).toBeLessThan(5 * 10_000)
  // Deep down they read the index before it, too.
  await owner.unsafe('vacuum private.inbox_entries')
  expect(await pagesOf(large, page(50, 9900))).toBeLessThan(4 * limit)

  // The latest 9,000 archived, so that the others begin far down; all muted, and the oldest twenty pinned.
  await owner`
    update private.inbox_entries
    set archived_id = last_message_id
    where user_id = ${large} and conversation_id in (
      select conversation_id from private.inbox_entries where user_id = ${large} order by active_at desc limit 9000
    )`
  await owner`
    update private.inbox_entries
    set muted_until = 'infinity', is_pinned = conversation_id in (
      select conversation_id from private.inbox_entries where user_id = ${large} order by active_at limit 20
    )
    where user_id = ${large}`
  await owner.unsafe('vacuum analyze private.inbox_entries')
  const both = ', archived => false, pinned_first => true'
  for (const filter of [', archived => false', ', archived => true', ', pinned_first => true', both]) {
    const { pages, answer } = await readAs(large, list(filter))
    expect({ filter, length: answer.length }).toEqual({ filter, length: 50 })
    expect(pages, filter).toBeLessThan(4 * limit)
  }

  // Unread counts read the conversations that have some, and no others.
  await owner`update private.inbox_entries set unread = 0`
  await owner`
    update private.inbox_entries set unread = 1
    where user_id = ${large} and conversation_id in (
      select conversation_id from private.inbox_entries where user_id = ${large} order by 1 limit 10
    )`
  await owner.unsafe('vacuum analyze private.inbox_entries')
  const { pages, answer } = await readAs(large, 'count_unread()')
  expect(answer.total).toBe(10)
  expect(pages).toBeLessThan(40)
})

test('a page of changes costs the same however much has happened before the cursor, and to others', async () => {
  const [ana, ben] = await addPeople(2) as [number, number]
  const log = (count: number) =>
    owner`
      insert into private.changes (user_id, other_id, kind, conversation_id, entity_id)
      select case when n % 4 > 0 then ${ana} else n end, ${ben}, 'message', 1, n from generate_series(1, ${count}) as n`
  await log(20_000)
  // A cursor starts at the oldest transaction that was running when it was taken, and other tests have long ones.
  const [latest] = await owner`select max(xid)::text as xid from private.changes where other_id = ${ben}`
  await vi.waitFor(async () => {
    const [row] = await owner`select pg_snapshot_xmin(pg_current_snapshot()) > ${latest!.xid}::xid8 as all_ended`
    expect(row!.all_ended).toBe(true)
  }, { timeout: 50_000, interval: 100 })
  let { cursor } = (await readAs(ben, 'list_changes(null, 50)')).answer
  await log(5000)
  await owner.unsafe('analyze private.changes')
  for (let page = 0; page < 20; page++) {
    const { pages, answer } = await readAs(ben, `list_changes('${cursor}', 50)`)
    expect(answer.changes).toHaveLength(50)
    expect(pages).toBeLessThan(60)
    cursor = answer.cursor
  }
})
