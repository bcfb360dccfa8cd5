// People, admins, the clock and workers do everything at random, over several connections, a seventh of it rolled back.
// Afterwards everything is as if they had come one after the other. What each lock is for is tried in races/; this is
// for what nobody has thought of. RACES=20 is a long run.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { seededRandom } from '../tools/random.ts'
import { searchAudit } from '../tools/search_audit.ts'

// The same check as in tests/db/inbox/drift.test.sql.
const drift = /create or replace function tests\.inbox_drift\(\)[\s\S]*?\$\$;/
const check = drift.exec(readFileSync('tests/db/fixtures.sql', 'utf8'))![0]
const { owner, connect } = await useCopy('racing', 'create schema tests authorization postgres', check)

interface Racer {
  me: number
  other: number
  talk: number
  yes: boolean
  below: (limit: number) => number
  pick: <Item>(items: readonly Item[]) => Item
}
const one = (table: string, where: string, order = 'random()') =>
  `(select id from public.${table} where ${where} order by ${order} limit 1)`
const message = (talk: number) => one('messages', `conversation_id = ${talk}`)
const latest = (talk: number, column = 'id') =>
  `(select ${column} from public.reservations where conversation_id = ${talk} order by id desc limit 1)`
const terms = `concat_ws(' ', title, price, date, ends_at)`
// Until the lock is had the other may change the offer. The note, or the title of a counter-offer, says what was read.
const step = (talk: number, name: string) =>
  `api.step_reservation(${talk}, ${latest(talk)}, '${name}', ${latest(talk, terms)}, ${latest(talk, 'revision')})`
const text = ({ below }: Racer) => Array.from({ length: 12 }, () => `word${below(200)}`).join(' ')
// An erasure locks the profile first, and may be the one that a deadlock ends.
const user = (change: string) => ({ me }: Racer) => `update public.users set ${change} where id = ${me} and id > 2`
const profile = (change: (racer: Racer) => string) => (racer: Racer) =>
  `update public.profiles set ${change(racer)} where user_id = ${racer.me}`

/** How often this is done, relative to the others, and what: a function that `me` calls, or what an admin does. */
const moves: [often: number, move: (racer: Racer) => string][] = [
  [6, ({ talk }) => `api.send_message(${talk}, '{"content": "x"}')`],
  [2, ({ talk, yes }) => `api.mark_read(${talk}, ${message(talk)}, ${yes})`],
  [2, ({ talk, yes, pick }) => `api.set_conversation_state(${talk}, '{"${pick(['archived', 'pinned'])}": ${yes}}')`],
  [
    1,
    ({ talk, yes }) => `delete from public.messages where id = ${yes ? message(talk) : one('messages', 'true', 'id')}`,
  ],
  [1, ({ talk }) => `update public.messages set read = not read where id = ${message(talk)}`],

  // They begin and end within seconds, so the clock takes part.
  [5, ({ talk, below, yes }) => {
    const date = 200 + below(8000)
    return `api.offer_reservation(${talk}, jsonb_build_object('title', 'Race', 'price', 1,
      'date', clock_timestamp() + interval '${date} ms',
      'ends_at', ${yes ? `clock_timestamp() + interval '${date + 1 + below(100)} ms'` : 'null'}))`
  }],
  [
    3,
    ({ talk, below }) =>
      `api.counter_reservation(${talk}, ${latest(talk)}, ${latest(talk, 'revision')}, jsonb_build_object(
      'price', ${below(9)}, 'title', ${latest(talk, `'Instead of ' || price`)}))`,
  ],
  [6, ({ talk }) => step(talk, 'accept')],
  [2, ({ talk, pick }) => step(talk, pick(['decline', 'cancel', 'complete']))],
  [
    1,
    ({ talk, pick }) =>
      `update public.reservations set status = '${pick(['accepted', 'cancelled', 'pending'])}'
    where id = ${latest(talk)} and conversation_id in (select id from public.conversations where voyager_id > 2)`,
  ],
  [2, () => 'select private.settle_reservations()'],

  [
    3,
    ({ other, yes, below }) =>
      `api.report_person(jsonb_build_object('user_id', ${other}, 'reason', 'spam', 'share_messages', ${yes},
      'block', ${below(12) === 0}))`,
  ],
  [3, ({ other }) => `api.unblock_person(${other})`],
  [
    2,
    ({ pick }) =>
      `select public.resolve_report(${one('reports', 'true')}, '${
        pick(['dismiss', 'warn', 'hide', 'suspend'])
      }', 'Why')`,
  ],
  [1, ({ me, yes }) => `select public.restrict_person(${me}, '${yes ? 'hide' : 'suspend'}', 'Why')`],
  [5, ({ me, yes }) => `select public.lift_restriction(${me}, '${yes ? 'hide' : 'suspend'}', 'Why')`],
  [
    1,
    ({ below }) =>
      below(8) ? 'select private.purge_evidence()' : `select public.erase_person(${one('users', 'id <= 2')}, 'Why')`,
  ],
  [2, () => 'select private.plan_notifications(max_rows => 100, push => true, mail => true)'],

  [2, () => `api.set_searchable(true)`],
  [
    2,
    (racer) => `api.update_profile('${JSON.stringify({ name: text(racer), city: text(racer), is_searchable: true })}')`,
  ],
  [2, ({ below }) => `api.set_interests('{"ids": [${below(9) + 1}, ${below(9) + 1}]}')`],
  [3, profile((racer) => `biography = '${text(racer)} ${text(racer)}'`)],
  [1, profile(() => 'is_searchable = not is_searchable')],
  [1, user('is_active = random() < 0.8')],
  [1, (racer) => user(`name = '${text(racer)}'`)(racer)],
  [1, () => 'select private.count_words()'],
]

const seed = Date.now() % 2 ** 31
test(`whatever happens at once, all is consistent afterwards (seed ${seed})`, async () => {
  const calls = 3000 * Number(process.env.RACES ?? 1)
  await owner`select private.adopt_outbox_settings(0, true)`
  await owner`insert into public.interests (name) select 'Pastime ' || n from generate_series(1, 9) as n`
  const people = (await owner<{ id: number }[]>`
    insert into public.users (name, email) select 'Racer ' || n, n || '@example.com' from generate_series(1, 6) as n
    returning id::int`).map(({ id }) => id)
  await owner`insert into public.profiles (user_id, is_searchable) select unnest(${people}::bigint[]), true`
  const talks = await owner<{ id: number; pair: [number, number] }[]>`
    insert into public.conversations (voyager_id, local_id)
    select one, other from unnest(${people}::bigint[]) as one, unnest(${people}::bigint[]) as other where one < other
    returning id::int, array[voyager_id::int, local_id::int] as pair`

  const tally: Record<string, number> = {}
  const choices = moves.flatMap(([often, move]) => Array.from({ length: often }, () => move))
  let remaining = calls
  const work = async (_: unknown, worker: number): Promise<void> => {
    const random = seededRandom(seed + worker)
    const below = (limit: number) => Math.floor(random() * limit)
    const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
    const sql = connect()
    while (remaining-- > 0) {
      const { id: talk, pair } = pick(talks)
      const [me, other] = random() < 0.5 ? pair : pair.toReversed() as [number, number]
      const move = pick(choices)({ me, other, talk, yes: random() < 0.5, below, pick })
      // Nobody is let in who is not active.
      const asMe = `select case when exists (select from public.users where id = ${me} and is_active) then ${move} end`
      const [caller, statement] = move.startsWith('api.') ? [me, asMe] : ['', move]
      const end = random() < 0.15 ? 'rollback' : 'commit'
      await sql.unsafe(`begin; select set_config('api.caller', '${caller}', true)`)
      const outcome = await sql.unsafe(statement).then(() => end, ({ code, message }) => `${code} ${message}`)
      await sql.unsafe(outcome === 'commit' ? 'commit' : 'rollback')
      const kind = /^(PT4\d\d|23P01|commit|rollback)/.exec(outcome)?.[0] ?? `${outcome} in ${move}`
      tally[kind] = (tally[kind] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: 8 }).map(work))

  // Refused by what is documented, or for an admin by another reservation of the host; no deadlock.
  expect(Object.keys(tally).filter((kind) => kind.includes(' '))).toEqual([])
  expect(tally.commit, JSON.stringify(tally)).toBeGreaterThan(calls / 3)
  for (const kind of ['PT409', 'PT403', 'rollback']) expect(tally[kind], kind).toBeGreaterThan(calls / 100)
  expect([...await owner`select * from tests.inbox_drift()`]).toEqual([])

  const wrong = await owner`
    with erased as (select * from public.users where erased_at is not null)
    select 'booked twice' as what, one.id
    from public.reservations as one
    join public.reservations as other on other.id < one.id and other.host_id = one.host_id
      and one.ends_at > other.date and other.ends_at > one.date
    where (one.status, other.status) = ('accepted', 'accepted')
    union all
    select 'answered in other terms', id from public.reservation_history
    where status in ('accepted', 'declined') and note <> ${owner.unsafe(terms)}
    union all
    select 'an illegal step', id
    from (
      select *, lag(status) over past as before, lag(created_at) over past as before_at, lag(price) over past as read
      from public.reservation_history window past as (partition by reservation_id order by id)
    ) as steps
    where created_at < before_at
      or by_id > 0 and status = 'pending' and title <> 'Instead of ' || read
      or by_id > 0 and (before not in ('pending', 'accepted') or before = 'accepted' and status <> 'cancelled')
    union all
    select 'status and history differ', id from public.reservations where status <> (
      select status from public.reservation_history where reservation_id = reservations.id order by id desc limit 1
    )
    union all
    select 'hidden and searchable', user_id from public.hidden_profiles join public.profiles using (user_id)
    where is_searchable
    union all
    select 'resolved and not logged once', id from public.reports where resolved_at is not null
      and 1 <> (select count(*) from public.moderation_log where report_id = reports.id and action = resolution)
    union all
    select 'logged and open', report_id
    from public.moderation_log join public.reports on reports.id = report_id
    where resolved_at is null
    union all
    select 'erased and not logged once', id from erased
    where 1 <> (select count(*) from public.moderation_log where user_id = erased.id and action = 'erase')
    union all
    select 'evidence without an end', reports.id from public.reports join erased on erased.id in (reporter_id, user_id)
    where purge_at is null
    union all
    select 'erased and active', id from erased where is_active
    union all
    select 'erased and hidden', id from erased join public.hidden_profiles on user_id = id
    union all
    select 'erased with a state', id from erased join private.conversation_states on user_id = id
    union all
    select 'erased and archived', id from erased join private.conversation_activity
      on id = voyager_id and voyager_archived_id is not null or id = local_id and local_archived_id is not null
    union all
    select 'erased with a reservation', reservations.id from public.reservations
    join public.conversations on conversations.id = conversation_id join erased on erased.id in (voyager_id, local_id)
    where status in ('pending', 'accepted')`
  expect([...wrong]).toEqual([])
  const [answered] = await owner`
    select count(*) filter (where status = 'accepted' and note is not null)::int as agreed,
      count(*) filter (where title ~ '^Instead')::int as countered from public.reservation_history`
  expect(Object.entries(answered!).filter(([, count]) => count === 0)).toEqual([])

  await owner`select private.count_words()`
  const [row] = await owner.unsafe(searchAudit)
  expect(Object.entries(row!.findings).filter(([, amount]) => amount !== 0)).toEqual([])
  await owner`update public.profiles set biography = null, city = null`
  await owner`update public.users set name = 'Nobody', is_active = true where erased_at is null`
  await owner`delete from public.profile_interests`
  await owner`update public.profiles set is_searchable = true
    where user_id not in (select user_id from public.hidden_profiles)`
  await owner`select private.count_words()`
  const words = await owner`select word from private.search_lexicon where word !~ '^[@~]'`
  expect([...words]).toEqual([{ word: 'nobody' }])
}, 60_000 * Math.max(2, Number(process.env.RACES ?? 1)))
