// Participants, an admin and the clock act on the same reservations at once, over several connections. Reservations
// begin and end within seconds, so the clock takes part.
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { platform } from '../tools/supabase.ts'
import { seededRandom } from '../tools/random.ts'
import { pause } from '../tools/wait.ts'

// RACES=10000 is the long run.
const calls = Number(process.env.RACES ?? 1500)
const workers = 8
const terms = (sql: postgres.Sql) => sql`concat_ws(' ', title, price, date, ends_at)`
const connect = () => postgres(platform('racing'), { max: 1, onnotice: () => {} })

test(`after ${calls} racing calls every history is legal, and no host is booked twice`, async () => {
  const owner = connect()
  const people = await owner<{ id: number }[]>`
    insert into public.users (name, email)
    select 'Racer ' || n, 'racer' || n || '@example.com' from generate_series(1, 6) as n
    returning id::int
  `
  const [first, second, ...guests] = people.map(({ id }) => id) as [number, number, ...number[]]
  const talks = await owner<{ id: number; guest: number; host: number }[]>`
    insert into public.conversations (voyager_id, local_id)
    select guest, host
    from unnest(${guests}::bigint[]) as guest
    cross join unnest(${[first, second]}::bigint[]) as host
    returning id::int, voyager_id::int as guest, local_id::int as host
  `
  await owner`truncate realtime.messages`
  const open: { id: number; talk: typeof talks[number] }[] = []
  const byAdmin = new Set<number>()
  const tally: Record<string, number> = {}
  let adminWrites = 0
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
    const offer = async () => {
      const talk = pick(talks)
      const date = Date.now() + 300 + random() * 3000
      const draft = {
        title: 'Race',
        price: 1,
        date: new Date(date).toISOString(),
        ...(random() < 0.9 && { ends_at: new Date(date + 1 + random() * 1500).toISOString() }),
      }
      const [row] = await as(
        pick([talk.guest, talk.host]),
        (db) => db`select api.offer_reservation(${talk.id}, ${db.json(draft)}) as body`,
      )
      open.push({ id: row!.body.id, talk })
    }
    const act = async () => {
      const { id, talk } = pick(open.slice(-12))
      const person = pick([talk.guest, talk.host])
      const name = pick(['accept', 'accept', 'accept', 'decline', 'cancel', 'complete', 'counter'])
      if (name === 'counter') {
        const price = Math.floor(random() * 1000)
        const changes = pick<Record<string, string | number>>([{ price }, { title: `Walk ${price}` }])
        await as(person, (db) =>
          db`select api.counter_reservation(
            conversation => ${talk.id}, reservation => ${id}, changes => ${db.json(changes)}
          )`)
      } else {
        // Between reading and accepting the other may have changed the offer. The note says what was read.
        const [read] = await sql`select revision, ${terms(sql)} as terms from public.reservations where id = ${id}`
        if (name === 'accept' && random() < 0.5) await pause(random() * 5)
        await as(person, (db) =>
          db`select api.step_reservation(
            conversation => ${talk.id}, reservation => ${id}, step => ${name}, revision => ${read!.revision},
            note => ${name === 'accept' ? read!.terms : null}
          )`)
      }
    }
    const administer = async () => {
      const { id } = pick(open.slice(-12))
      byAdmin.add(id)
      await sql`update public.reservations set status = ${pick(['accepted', 'cancelled', 'pending'])} where id = ${id}`
      adminWrites++
    }
    const settle = () => sql`select private.settle_reservations()`
    while (remaining-- > 0) {
      const chance = random()
      const move = open.length < 20 || chance < 0.15 ? offer : chance < 0.85 ? act : chance < 0.9 ? administer : settle
      const outcome = await move().then(() => 'ok', ({ code }) => code)
      tally[outcome] = (tally[outcome] ?? 0) + 1
    }
    await sql.end()
  }
  await Promise.all(Array.from({ length: workers }, (_, seed) => work(seed + 1)))

  // Refused by a status, or by another reservation of the host; nothing else may go wrong, deadlocks included.
  expect(Object.keys(tally).filter((code) => !['ok', 'PT409', '23P01'].includes(code)), JSON.stringify(tally)).toEqual(
    [],
  )
  expect(tally.ok).toBeGreaterThan(calls / 10)
  expect(tally.PT409).toBeGreaterThan(calls / 50)
  const agreed = await owner<{ note: string; terms: string }[]>`
    select note, ${terms(owner)} as terms from public.reservation_history where status = 'accepted' and note is not null
  `
  expect(agreed.length).toBeGreaterThan(calls / 200)
  expect(agreed.filter(({ note, terms }) => note !== terms)).toEqual([])
  const overlapping = await owner`
    select one.id, other.id as other
    from public.reservations as one
    join public.reservations as other
      on other.id < one.id and other.host_id = one.host_id
        and tstzrange(other.date, other.ends_at) && tstzrange(one.date, one.ends_at)
    where one.status = 'accepted' and other.status = 'accepted'
      and one.ends_at is not null and other.ends_at is not null
  `
  expect(overlapping).toEqual([])

  const histories = await owner<{ id: number; host: number; guest: number; status: string; steps: Step[] }[]>`
    select
      reservations.id::int, local_id::int as host, voyager_id::int as guest, reservations.status,
      json_agg(json_build_object(
        'status', history.status, 'by', history.by_id, 'at', history.created_at, 'date', history.date,
        'due', coalesce(history.ends_at, history.date)
      ) order by history.id) as steps
    from public.reservations
    join public.conversations on conversations.id = reservations.conversation_id
    join public.reservation_history as history on history.reservation_id = reservations.id
    group by reservations.id, conversations.id
  `
  expect(histories.length).toBe(open.length)
  for (const { id, guest, host, status, steps } of histories) {
    const problems = byAdmin.has(id) ? [] : illegal(steps, [guest, host])
    expect({ id, last: steps.at(-1)!.status, ordered: isOrdered(steps), problems })
      .toEqual({ id, last: status, ordered: true, problems: [] })
  }
  // One event to each of the two for every step. An admin's write is one event, whether it is no step or, where the
  // clock was late, two.
  const steps = histories.reduce((sum, one) => sum + one.steps.length, 0)
  const [events] = await owner`
    select count(*)::int as count from realtime.messages where event = 'reservation.changed'
  `
  expect(Math.abs(events!.count / 2 - steps)).toBeLessThanOrEqual(adminWrites)
  await owner.end()
  console.log(JSON.stringify({ tally, reservations: open.length, steps }))
}, 10 * 60_000)

interface Step {
  status: string
  by: number | null
  at: string
  due: string
  date: string
}

const isOrdered = (steps: Step[]): boolean =>
  steps.every(({ at }, index) => index === 0 || Date.parse(at) >= Date.parse(steps[index - 1]!.at))

/** The steps that nobody could take from the one before. Without an admin only the clock is nobody. */
const illegal = (steps: Step[], participants: number[]): Step[] => {
  let offeredBy = steps[0]!.by
  return steps.filter(({ status, by, at, date, due }, index) => {
    const before = steps[index - 1]
    if (!before) return status !== 'pending' || !participants.includes(by!)
    const from = `${before.status} → ${status}`
    if (by === null) {
      // Dated when it was due.
      return !(from === 'pending → cancelled' && at === date || from === 'accepted → completed' && at === due)
    }
    // A person's step happened before the clock's was due.
    if (!participants.includes(by) || Date.parse(at) > Date.parse(before.status === 'pending' ? date : due)) return true
    const isOffer = from === 'pending → pending'
    const answers = ['pending → accepted', 'pending → declined'].includes(from) && by !== offeredBy
    const cancels = ['pending → cancelled', 'accepted → cancelled'].includes(from)
    if (isOffer) offeredBy = by
    return !(isOffer || answers || cancels)
  })
}
