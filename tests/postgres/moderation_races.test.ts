// People report, block, reserve, arrange conversations, show their profiles and are erased while several admins resolve
// reports, restrict people, lift restrictions and purge, and a worker plans whom to tell, over several connections.
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { platform } from '../tools/supabase.ts'
import { seededRandom } from '../tools/random.ts'

const calls = Number(process.env.RACES ?? 600)
const workers = 6
const connect = () => postgres(platform('moderated'), { max: 1, onnotice: () => {} })

test(`after ${calls} racing calls every decision is logged once, and nobody hidden is searchable`, async () => {
  const owner = connect()
  const people = (await owner<{ id: number }[]>`
    insert into public.users (name, email)
    select 'Moderated ' || n, 'moderated' || n || '@example.com' from generate_series(1, 9) as n
    returning id::int
  `).map(({ id }) => id)
  await owner`select private.adopt_outbox_settings(0, false)`
  await owner`insert into public.profiles (user_id) select unnest(${people}::bigint[])`
  await owner`
    insert into public.conversations (voyager_id, local_id)
    select one, other from unnest(${people}::bigint[]) as one, unnest(${people}::bigint[]) as other where one < other
  `
  await owner`
    insert into public.messages (conversation_id, user_id, content)
    select id, person, 'Hello' from public.conversations, unnest(array[voyager_id, local_id]) as person
    where voyager_id = any(${people}::bigint[])
  `
  const tally: Record<string, number> = {}
  const erasable = people.slice(0, 5)
  // Of the first five, and so of those who are erased, too.
  const talks = await owner<{ id: number; voyager: number; local: number }[]>`
    select id::int, voyager_id::int as voyager, local_id::int as local
    from public.conversations where voyager_id = any(${people.slice(0, 5)}::bigint[])
  `
  let remaining = calls

  const work = async (seed: number): Promise<void> => {
    const random = seededRandom(seed)
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
    const sql = connect()
    const as = async (person: number, call: (transaction: postgres.TransactionSql) => Promise<postgres.Row[]>) =>
      await sql.begin(async (transaction) => {
        await transaction`select set_config('api.caller', ${`${person}`}, true)`
        return await call(transaction)
      })
    const moves: Record<string, () => Promise<unknown>> = {
      report: () =>
        as(pick(people), (db) => {
          const draft = { user_id: pick(people), reason: 'spam', share_messages: random() < 0.5, block: random() < 0.5 }
          return db`select api.report_person(${db.json(draft)})`
        }),
      show: () => as(pick(people), (db) => db`select api.set_searchable(true)`),
      edit: () =>
        as(pick(people), (db) => db`select api.update_profile(${db.json({ city: 'Faro', is_searchable: true })})`),
      resolve: () =>
        sql`
          select public.resolve_report(
            (select id from public.reports where user_id = any(${people}::bigint[]) order by id desc limit 1 offset
              ${Math.floor(random() * 3)}),
            ${pick(['dismiss', 'warn', 'hide', 'suspend'])}, 'Decided'
          )
        `,
      lift: () =>
        sql`select public.lift_restriction(${pick(people)}, ${pick(['hide', 'suspend', 'suspend'])}, 'Lifted')`,
      restrict: () => sql`select public.restrict_person(${pick(people)}, ${pick(['hide', 'suspend'])}, 'Restricted')`,
      arrange: () => {
        const talk = pick(talks)
        const changes = { archived: random() < 0.7, pinned: random() < 0.7 }
        return as(
          pick([talk.voyager, talk.local]),
          (db) => db`select api.set_conversation_state(${talk.id}, ${db.json(changes)})`,
        )
      },
      offer: () => {
        const talk = pick(talks)
        const draft = { title: 'A walk', price: 1, date: '2036-06-01T12:00:00Z' }
        return as(
          pick([talk.voyager, talk.local]),
          (db) => db`select api.offer_reservation(${talk.id}, ${db.json(draft)})`,
        )
      },
      accept: async () => {
        const [open] = await sql<{ id: number; talk: number; answers: number; revision: number }[]>`
          select
            reservations.id::int, revision, conversation_id::int as talk,
            (case offered_by when voyager_id then local_id else voyager_id end)::int as answers
          from public.reservations join public.conversations on conversations.id = conversation_id
          where conversation_id = any(${talks.map(({ id }) => id)}::bigint[]) and status = 'pending'
          order by random() limit 1
        `
        if (!open) return
        await as(
          open.answers,
          (db) =>
            db`select api.step_reservation(
              conversation => ${open.talk}, reservation => ${open.id}, step => 'accept', note => null,
              revision => ${open.revision})`,
        )
      },
      purge: () => sql`select private.purge_evidence()`,
      plan: () => sql`select private.plan_notifications(max_rows => 100, push => true, mail => true)`,
      erase: async () => {
        const person = random() < 0.3 && erasable.pop()
        if (person) await sql`select public.erase_person(${person}, 'Asked for it')`
      },
    }
    const often = [
      'report',
      'report',
      'report',
      'show',
      'edit',
      'resolve',
      'resolve',
      'restrict',
      'lift',
      'lift',
      'lift',
      'purge',
      'plan',
      'plan',
      'erase',
      ...['arrange', 'arrange', 'offer', 'accept', 'accept'],
    ]
    while (remaining-- > 0) {
      const outcome = await moves[pick(often)]!().then(() => 'ok', ({ code }) => code)
      tally[outcome] = (tally[outcome] ?? 0) + 1
    }
    await sql.end()
  }
  await Promise.all(Array.from({ length: workers }, (_, seed) => work(seed + 1)))

  // Refused by what is documented; nothing else may go wrong, deadlocks included.
  const refusals = ['ok', 'PT400', 'PT401', 'PT403', 'PT404', 'PT409']
  expect(Object.keys(tally).filter((code) => !refusals.includes(code)), JSON.stringify(tally)).toEqual([])
  expect(tally.ok).toBeGreaterThan(calls / 4)
  const wrong = await owner`
    select 'searchable' as problem, profiles.user_id from public.profiles
    join public.hidden_profiles on hidden_profiles.user_id = profiles.user_id
    where is_searchable
    union all
    select 'not logged once', reports.id
    from public.reports
    left join public.moderation_log on report_id = reports.id and action = resolution
    where reports.user_id = any(${people}::bigint[]) and resolved_at is not null
    group by reports.id
    having count(moderation_log.id) <> 1
    union all
    select 'logged and open', report_id
    from public.moderation_log
    join public.reports on reports.id = report_id
    where resolved_at is null
    union all
    select 'logged as an edit', report_id
    from public.moderation_log
    where action = 'edit report'
    union all
    select 'erased and not logged once', users.id
    from public.users
    left join public.moderation_log on moderation_log.user_id = users.id and action = 'erase'
    where users.id = any(${people}::bigint[]) and erased_at is not null
    group by users.id
    having count(moderation_log.id) <> 1
    union all
    select 'without an end', reports.id
    from public.reports
    join public.users on users.id in (reporter_id, reports.user_id)
    where erased_at is not null and purge_at is null
    union all
    select 'erased and active', id from public.users where erased_at is not null and is_active
    union all
    select 'erased and hidden', user_id
    from public.hidden_profiles join public.users on users.id = user_id
    where erased_at is not null
    union all
    select 'erased with a state', user_id
    from private.conversation_states join public.users on users.id = user_id
    where erased_at is not null
    union all
    select 'erased and archived', users.id
    from private.conversation_activity
    join public.users
      on users.id = voyager_id and voyager_archived_id is not null
      or users.id = local_id and local_archived_id is not null
    where erased_at is not null
    union all
    select 'erased with a reservation', reservations.id
    from public.reservations
    join public.conversations on conversations.id = conversation_id
    join public.users on users.id in (voyager_id, local_id)
    where erased_at is not null and status in ('pending', 'accepted')
  `
  expect([...wrong]).toEqual([])
  await owner.end()
  console.log(JSON.stringify(tally))
}, 5 * 60_000)
