// People, admins, the clock and workers do everything at random, over several connections. RACES=10000 is the long run.
import { readFileSync } from 'node:fs'
import type postgres from 'postgres'
import { expect, test } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { pause } from '../tools/wait.ts'
import { race } from './races/random.ts'

// The same check as in tests/db/inbox/drift.test.sql.
const drift = /create or replace function tests\.inbox_drift\(\)[\s\S]*?\$\$;/
const check = drift.exec(readFileSync('tests/db/fixtures.sql', 'utf8'))![0]
const inboxes = await useCopy('inboxes', 'create schema tests authorization postgres', check)
const [racing, moderated, writing] = [await useCopy('racing'), await useCopy('moderated'), await useCopy('writing')]

const times = Number(process.env.RACES ?? 1500) / 1500
const addPeople = async (sql: postgres.Sql, count: number): Promise<number[]> => {
  const people = await sql<{ id: number }[]>`
    insert into public.users (name, email)
    select 'Racer ' || n, 'racer' || n || '@example.com' from generate_series(1, ${count}) as n
    returning id::int`
  return people.map(({ id }) => id)
}

interface Talk {
  id: number
  voyager: number
  local: number
}
const openTalks = (sql: postgres.Sql, pairs: [voyager: number, local: number][]) =>
  sql<Talk[]>`
    insert into public.conversations (voyager_id, local_id)
    select * from unnest(${pairs.map(([one]) => one)}::bigint[], ${pairs.map(([, other]) => other)}::bigint[])
    returning id::int, voyager_id::int as voyager, local_id::int as local`
const allPairs = (people: number[]): [number, number][] =>
  people.flatMap((one, index) => people.slice(index + 1).map((other): [number, number] => [one, other]))

test('every history of a reservation is legal, and no host is booked twice', async () => {
  const { owner, connect } = racing
  const [first, second, ...guests] = await addPeople(owner, 6) as [number, number, ...number[]]
  const talks = await openTalks(owner, guests.flatMap((guest): [number, number][] => [[guest, first], [guest, second]]))
  await owner`truncate realtime.messages`
  const open: { id: number; talk: Talk }[] = []
  const byAdmin: number[] = []
  const terms = (sql: postgres.Sql) => sql`concat_ws(' ', title, price, date, ends_at)`

  const calls = 1500 * times
  const tally = await race(connect, {
    workers: 8,
    calls,
    // By a status, or by another reservation of the host.
    refusals: ['PT409', '23P01', 'none is open'],
    moves: [
      [3, async ({ as, pick, random }) => {
        const talk = pick(talks)
        // They begin and end within seconds, so the clock takes part.
        const date = Date.now() + 300 + random() * 3000
        const ends_at = random() < 0.9 ? new Date(date + 1 + random() * 1500).toISOString() : null
        const draft = { title: 'Race', price: 1, date: new Date(date).toISOString(), ends_at }
        const [row] = await as(
          pick([talk.voyager, talk.local]),
          (db) => db`select api.offer_reservation(${talk.id}, ${db.json(draft)}) as body`,
        )
        open.push({ id: row!.body.id, talk })
      }],
      [14, async ({ as, sql, pick, random, below }) => {
        if (open.length < 20) throw new Error('none is open')
        const { id, talk } = pick(open.slice(-12))
        const name = pick(['accept', 'accept', 'accept', 'decline', 'cancel', 'complete', 'counter'])
        // Between reading and accepting the other may have changed the offer. The note says what was read.
        const [read] = await sql`select revision, ${terms(sql)} as terms from public.reservations where id = ${id}`
        if (name === 'accept' && random() < 0.5) await pause(random() * 5)
        const changes = pick<Record<string, string | number>>([{ price: below(1000) }, {
          title: `Walk ${below(1000)}`,
        }])
        await as(pick([talk.voyager, talk.local]), (db) =>
          name === 'counter'
            ? db`select api.counter_reservation(
              conversation => ${talk.id}, reservation => ${id}, changes => ${db.json(changes)})`
            : db`select api.step_reservation(
              conversation => ${talk.id}, reservation => ${id}, step => ${name}, revision => ${read!.revision},
              note => ${name === 'accept' ? read!.terms : null})`)
      }],
      [1, async ({ sql, pick }) => {
        if (open.length < 20) throw new Error('none is open')
        const { id } = pick(open.slice(-12))
        byAdmin.push(id)
        await sql`update public.reservations set status = ${
          pick(['accepted', 'cancelled', 'pending'])
        } where id = ${id}`
      }],
      [2, ({ sql }) => sql`select private.settle_reservations()`],
    ],
  })
  expect(tally.PT409).toBeGreaterThan(calls / 50)

  const agreed = await owner<{ note: string; terms: string }[]>`
    select note, ${
    terms(owner)
  } as terms from public.reservation_history where status = 'accepted' and note is not null`
  expect(agreed.length).toBeGreaterThan(calls / 200)
  expect(agreed.filter(({ note, terms }) => note !== terms)).toEqual([])
  const overlapping = await owner`
    select one.id, other.id as other
    from public.reservations as one
    join public.reservations as other
      on other.id < one.id and other.host_id = one.host_id
        and tstzrange(other.date, other.ends_at) && tstzrange(one.date, one.ends_at)
    where one.status = 'accepted' and other.status = 'accepted' and one.ends_at > '-infinity' and other.ends_at > '-infinity'`
  expect([...overlapping]).toEqual([])

  // Every step must be one that this person, or the clock, could take then. Of what an admin has written only the order.
  const illegal = await owner`
    with steps as (
      select
        history.*, voyager_id, local_id, lag(status) over past as before, lag(created_at) over past as before_at,
        lag(coalesce(case status when 'accepted' then ends_at end, date)) over past as before_due,
        max(id) filter (where status = 'pending') over (past rows between unbounded preceding and 1 preceding) as offer
      from public.reservation_history as history
      join (select id as talk, voyager_id, local_id from public.conversations) as talks on talk = conversation_id
      window past as (partition by reservation_id order by id)
    )
    select *
    from steps
    where created_at < before_at
      or reservation_id <> all(${byAdmin}::bigint[]) and not case
        when before is null then status = 'pending' and by_id in (voyager_id, local_id)
        when by_id is null then
          (before, status) = ('pending', 'cancelled') and created_at = date
          or (before, status) = ('accepted', 'completed') and created_at = coalesce(ends_at, date)
        else by_id in (voyager_id, local_id) and created_at <= before_due and case status
          when 'pending' then before = 'pending'
          when 'cancelled' then before in ('pending', 'accepted')
          when 'completed' then false
          else before = 'pending'
            and by_id <> (select by_id from public.reservation_history where reservation_history.id = offer)
        end
      end`
  expect([...illegal]).toEqual([])
  const [counts] = await owner`
    select
      (select count(*)::int from public.reservations) as reservations,
      (select count(distinct reservation_id)::int from public.reservation_history) as histories,
      (select count(*)::int from public.reservation_history) as steps,
      (select count(*)::int from realtime.messages where event = 'reservation.changed') as events,
      (
        select count(*)::int
        from public.reservations
        where status <> (
          select status from public.reservation_history where reservation_id = reservations.id order by id desc limit 1
        )
      ) as differing`
  expect(counts).toMatchObject({ reservations: open.length, histories: open.length, differing: 0 })
  // One event to each of the two for every step. An admin's write is one event, whether it is no step or, where the
  // clock was late, two.
  expect(Math.abs(counts!.events / 2 - counts!.steps)).toBeLessThanOrEqual(byAdmin.length)
}, 60_000 * Math.max(2, times))

test('every decision about a person is logged once, and nobody hidden can be found', async () => {
  const { owner, connect } = moderated
  const people = await addPeople(owner, 9)
  await owner`select private.adopt_outbox_settings(0, false)`
  await owner`insert into public.profiles (user_id) select unnest(${people}::bigint[])`
  const all = await openTalks(owner, allPairs(people))
  await owner`
    insert into public.messages (conversation_id, user_id, content)
    select id, person, 'Hello' from public.conversations, unnest(array[voyager_id, local_id]) as person`
  const erasable = people.slice(0, 5)
  // Of those who are erased, too.
  const talks = all.filter(({ voyager }) => erasable.includes(voyager))
  const date = '2036-06-01T12:00:00Z'

  await race(connect, {
    workers: 6,
    calls: 600 * times,
    refusals: ['PT400', 'PT401', 'PT403', 'PT404', 'PT409'],
    moves: [
      [3, ({ as, pick, random }) =>
        as(pick(people), (db) => {
          const draft = { user_id: pick(people), reason: 'spam', share_messages: random() < 0.5, block: random() < 0.5 }
          return db`select api.report_person(${db.json(draft)})`
        })],
      [1, ({ as, pick }) => as(pick(people), (db) => db`select api.set_searchable(true)`)],
      [
        1,
        ({ as, pick }) =>
          as(pick(people), (db) => db`select api.update_profile('{"city": "Faro", "is_searchable": true}')`),
      ],
      [2, ({ sql, pick, below }) =>
        sql`select public.resolve_report(
          (select id from public.reports order by id desc limit 1 offset ${below(3)}),
          ${pick(['dismiss', 'warn', 'hide', 'suspend'])}, 'Decided')`],
      [
        3,
        ({ sql, pick }) =>
          sql`select public.lift_restriction(${pick(people)}, ${pick(['hide', 'suspend', 'suspend'])}, 'Lifted')`,
      ],
      [1, ({ sql, pick }) => sql`select public.restrict_person(${pick(people)}, ${pick(['hide', 'suspend'])}, 'Why')`],
      [2, ({ as, pick, random }) => {
        const { id, voyager, local } = pick(talks)
        const state = { archived: random() < 0.7, pinned: random() < 0.7 }
        return as(pick([voyager, local]), (db) => db`select api.set_conversation_state(${id}, ${db.json(state)})`)
      }],
      [1, ({ as, pick }) => {
        const { id, voyager, local } = pick(talks)
        const draft = { title: 'A walk', price: 1, date }
        return as(pick([voyager, local]), (db) => db`select api.offer_reservation(${id}, ${db.json(draft)})`)
      }],
      [2, async ({ as, sql }) => {
        const [offer] = await sql`
          select reservations.id, revision, conversation_id as talk,
            (case offered_by when voyager_id then local_id else voyager_id end)::int as partner
          from public.reservations join public.conversations on conversations.id = conversation_id
          where status = 'pending' order by random() limit 1`
        if (offer) {
          await as(
            offer.partner,
            (db) =>
              db`select api.step_reservation(conversation => ${offer.talk}, reservation => ${offer.id}, step => 'accept',
              note => null, revision => ${offer.revision})`,
          )
        }
      }],
      [1, ({ sql }) => sql`select private.purge_evidence()`],
      [2, ({ sql }) => sql`select private.plan_notifications(max_rows => 100, push => true, mail => true)`],
      [1, async ({ sql, random }) => {
        const person = random() < 0.3 && erasable.pop()
        if (person) await sql`select public.erase_person(${person}, 'Asked for it')`
      }],
    ],
  })
  expect(erasable.length).toBeLessThan(5)
  const wrong = await owner`
    with erased as (select * from public.users where erased_at is not null)
    select 'hidden and searchable' as what, user_id as id from public.hidden_profiles join public.profiles using (user_id)
    where is_searchable
    union all
    select 'resolved and not logged once', reports.id from public.reports
    where resolved_at is not null
      and 1 <> (select count(*) from public.moderation_log where report_id = reports.id and action = resolution)
    union all
    select 'logged and open', report_id from public.moderation_log join public.reports on reports.id = report_id
    where resolved_at is null
    union all
    select 'logged as an edit', report_id from public.moderation_log where action = 'edit report'
    union all
    select 'erased and not logged once', id from erased
    where 1 <> (select count(*) from public.moderation_log where user_id = erased.id and action = 'erase')
    union all
    select 'without an end', reports.id from public.reports join erased on erased.id in (reporter_id, reports.user_id)
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
    join public.conversations on conversations.id = conversation_id
    join erased on erased.id in (voyager_id, local_id)
    where status in ('pending', 'accepted')`
  expect([...wrong]).toEqual([])
}, 60_000 * Math.max(2, times))

test('the inbox is what the messages say, also after transactions that were rolled back', async () => {
  const { owner, connect } = inboxes
  const talks = await openTalks(owner, allPairs(await addPeople(owner, 5)))
  type Act = (db: postgres.TransactionSql, talk: number, message: number, yes: boolean) => Promise<unknown>
  const acts: Act[] = [
    (db, talk) => db`select api.send_message(${talk}, '{"content": "x"}')`,
    (db, talk, message, yes) =>
      db`select api.mark_read(conversation => ${talk}, message => ${message}, and_before => ${yes})`,
    (db, talk, _, yes) => db`select api.set_conversation_state(${talk}, ${db.json({ archived: yes })})`,
    (db, talk, _, yes) => db`select api.set_conversation_state(${talk}, ${db.json({ pinned: yes })})`,
    (db, _, message) => db`delete from public.messages where id = ${message}`,
    (db, talk) =>
      db`delete from public.messages
        where id = (select max(id) from public.messages where conversation_id = ${talk})`,
    (db, _, message) => db`update public.messages set read = not read where id = ${message}`,
  ]
  const calls = 1600 * times
  const tally = await race(connect, {
    workers: 8,
    calls,
    refusals: ['undone', 'PT404'],
    moves: acts.map((act, index) => [index === 0 ? 3 : index === 1 ? 2 : 1, ({ as, pick, random }) => {
      const { id, voyager, local } = pick(talks)
      return as(pick([voyager, local]), async (db) => {
        const [message] = await db<{ id: number }[]>`
          select id::int from public.messages where conversation_id = ${id} order by random() limit 1`
        await act(db, id, message?.id ?? 0, random() < 0.5)
        if (random() < 0.15) throw new Error('undone')
        return []
      })
    }]),
  })
  expect(tally.ok).toBeGreaterThan(calls / 2)
  expect(tally.undone).toBeGreaterThan(calls / 32)
  expect([...await owner`select * from tests.inbox_drift()`]).toEqual([])
  const [counts] = await owner`
    select sum(voyager_unread + local_unread)::int as unread, max(last_message_id)::int as latest
    from private.conversation_activity`
  expect(counts!.unread).toBeGreaterThan(0)
  expect(counts!.latest).toBeGreaterThan(0)
}, 60_000 * Math.max(2, times))

const seed = Date.now() % 2 ** 31
test(`the search index is in step after rollbacks, and sweeps meanwhile (seed ${seed})`, async () => {
  const { owner, connect } = writing
  await owner`insert into public.interests (name) select 'Pastime ' || n from generate_series(1, 9) as n`
  const interests = (await owner`select id from public.interests`).map(({ id }) => Number(id))
  const users = await addPeople(owner, 40)
  const profiles = await owner<{ id: number; user: number }[]>`
    insert into public.profiles (user_id, biography, is_searchable)
    select id, 'I mend nets', true from unnest(${users}::bigint[]) as id
    returning id::int, user_id::int as user`
  const calls = 480 * times
  const tally = await race(connect, {
    seed,
    workers: 9,
    calls,
    // Deadlocks only of transactions that change one person's profile and user in opposite orders.
    refusals: ['undone', '40P01'],
    moves: [
      [20, async ({ sql, pick, below, random }) => {
        const { id, user } = pick(profiles)
        const text = () =>
          Array.from({ length: 12 }, () => `word${below(60)}x${below(4) === 0 ? below(1e6) : ''}`).join(' ')
        const interest = pick(interests)
        const changes: ((db: postgres.TransactionSql) => Promise<unknown>)[] = [
          (db) =>
            db`update public.profiles set biography = ${`${text()} ${text()} ${text()} ${text()}`} where id = ${id}`,
          (db) => db`update public.profiles set city = ${text().slice(0, 40)} where id = ${id}`,
          (db) => db`update public.profiles set is_searchable = not is_searchable where id = ${id}`,
          (db) => db`update public.users set is_active = not is_active where id = ${user}`,
          (db) => db`update public.users set name = ${text().slice(0, 40)} where id = ${user}`,
          (db) => db`insert into public.profile_interests values (${id}, ${interest}) on conflict do nothing`,
          (db) => db`delete from public.profile_interests where profile_id = ${id} and interest_id < ${interest}`,
        ]
        await sql.begin(async (db) => {
          for (let change = 0; change <= below(3); change++) await pick(changes)(db)
          if (random() < 0.3) throw new Error('undone')
        })
      }],
      [1, ({ sql }) => sql`select private.drain_lexicon_queue(10), private.sweep_lexicon()`],
    ],
  })
  await owner`select private.drain_lexicon_queue(null)`
  expect(tally.ok).toBeGreaterThan(calls / 2.5)
  expect(tally.undone).toBeGreaterThan(calls / 10)
  expect(tally['40P01'] ?? 0).toBeLessThan(tally.ok! / 20)
  const [{ found }] = await owner`select private.audit_search_index() as found` as unknown as [{ found: object }]
  expect(Object.entries(found).filter(([, amount]) => amount !== 0)).toEqual([])

  await owner`update public.profiles set biography = null, city = null`
  await owner`update public.users set name = 'Nobody'`
  await owner`delete from public.profile_interests`
  await owner`select private.sweep_lexicon()`
  expect([...await owner`select word from private.search_lexicon`]).toEqual([{ word: 'nobody' }])
  expect([...await owner`select from private.search_removed_words`]).toEqual([])
}, 60_000 * Math.max(2, times))
