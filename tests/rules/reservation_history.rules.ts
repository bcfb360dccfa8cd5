/** The history of reservations: what the clock, admins and an erasure write. */
import { asAdmin, equal, idOf, inDays, is, type Json, passTime, refuses, sql, talk, test } from './fixture.ts'
import { accept, change, counter, draft, historyOf, leadsTo, meet, offer, stepsIn, write } from './offers.ts'

test('readers see the steps of the clock at once, and settle_reservations writes them', async () => {
  const { ana, ben, ab } = await meet()
  const hours = (count: number) => inDays(count / 24)
  const made: Record<string, string> = {}
  // deno-fmt-ignore
  for (const [title, date, ends_at, status] of [
    ['offer', 10, 20, 'pending'], ['stay', 10, 20, 'accepted'], ['evening', 10, null, 'accepted'],
    ['no', 10, null, 'declined'], ['later', 30, null, 'pending'],
  ] as const) made[title] = await write(ab, { title, date: hours(date), ends_at: ends_at && hours(ends_at), status })
  /** The statuses as each way to read shows them, which must be the same. */
  const seen = async () => {
    const lists = [
      await ana.get('/users/me/reservations'),
      (await ben.get(ab)).Reservations,
      (await ben.get('/users/me/export')).conversations[0].Reservations,
    ]
    return (await Promise.all(
      Object.entries(made).map(async ([title, path]) => {
        const all = [await ana.get(path), ...lists.map((list) => list.find(({ id }: Json) => id === idOf(path)))]
        return `${title} ${[...new Set(all.map(({ status }) => status))].join('/')}`
      }),
    )).join()
  }
  const stored = async () =>
    (await sql("select string_agg(title || ' ' || status, ',' order by id) from public.reservations"))[0]
  const settle = () => sql('select private.settle_reservations()')
  const histories = () => Promise.all(Object.values(made).map((path) => historyOf(ana, path)))
  is(await seen(), await stored())
  equal(await settle(), [0])
  await passTime('15 hours')
  const before = await stored()
  is(await seen(), 'offer cancelled,stay accepted,evening completed,no declined,later pending')
  is(await stored(), before, 'reading has written nothing')
  const read = await histories()
  const { date } = await ana.get(made.offer!)
  is(read[0]?.at(-1), { status: 'cancelled', by: null, note: null, createdAt: date })
  // Whoever acts finds the step taken.
  const cancelled = { error: 'This reservation is cancelled', status: 'cancelled' }
  for (const step of ['accept', 'decline', 'complete']) {
    equal(await ben.post(`${made.offer}/${step}`, { revision: 1 }, 409), cancelled)
  }
  equal(await counter(ben, made.offer!, { date: hours(40) }, 409), cancelled)
  await ana.post(`${made.evening}/cancel`, {}, 409, { status: 'completed' })
  await ana.post(`${made.stay}/complete`, {}, 409, { status: 'accepted' })
  is(await stored(), before, 'nor have refused steps')
  await ana.post(`${made.offer}/cancel`, {}, 200, { status: 'cancelled' })
  is(await stored(), before, 'nor has a repeat')
  equal([await settle(), await settle()], [[2], [0]])
  is(await stored(), await seen())
  await ana.post(`${made.evening}/complete`, {}, 200, { status: 'completed' })
  equal(await histories(), read, 'the history is what readers saw before it was written')
  await passTime('25 hours')
  is(await seen(), 'offer cancelled,stay completed,evening completed,no declined,later pending')
  const { ends_at, history } = await ana.get(made.stay!)
  is(history.at(-1).createdAt, ends_at)
  for (const [status, ...titles] of [['completed', 'evening', 'stay'], ['accepted'], ['pending', 'later']]) {
    is(await ana.get(`/users/me/reservations?status=${status}`), titles.map((title) => ({ title, status })))
  }
  // The step is due at that very moment.
  const statusAt = (moment: string) =>
    sql(
      `select (private.reservation_at(jsonb_populate_record(
         null::public.reservations, jsonb_build_object('status', status, 'due_at', '2036-01-02')
       ), '${moment}')).status
       from unnest(array['pending', 'accepted']) as status`,
    )
  equal(await statusAt('2036-01-01 23:59:59.999'), ['pending', 'accepted'])
  equal(await statusAt('2036-01-02'), ['cancelled', 'completed'])
  // An admin is quicker than the schedule: the step of the clock comes first, with the title of its time.
  await change(made.stay!, "title = 'stay!'")
  const late = (await historyOf(ana, made.stay!)).map(({ status, by, title }) => [status, by, title])
  equal(late, [['accepted', null, 'stay'], ['completed', null, 'stay'], ['completed', null, 'stay!']])
  // What an admin dates in the past is settled after the write, not before.
  const past = await historyOf(ana, await write(ab, { date: inDays(-1), status: 'accepted' }))
  is(past, [{ status: 'accepted' }, { status: 'completed' }])
  is(past[1].createdAt >= past[0].createdAt, true)
})

test('the history is append-only, and complete whoever writes', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  // deno-fmt-ignore
  for (const set of [
    "status = 'accepted', price = 21", "status = 'accepted', price = 21", 'offered_by = null', "title = 'A climb'",
    "ends_at = date + interval '1 day'", `host_id = ${ana.id}`, "date = date - interval '1 hour'",
  ]) await change(it, set)
  const { history, updatedAt, date, ends_at } = await ana.get(it)
  const climb = ['accepted', 'A climb', null, 21]
  const seen = history.map(({ status, title, by, price }: Json) => [status, title, by, price])
  equal(seen, [['pending', 'A walk', ana.id, 20], ['accepted', 'A walk', null, 21], climb, climb, climb, climb])
  is(history.at(-1), { createdAt: updatedAt, date, ends_at })
  // An admin's offer can be answered by either.
  const offered = await write(ab)
  is(await ana.get(offered), { status: 'pending', host_id: ben.id, offered_by: null, history: [{ by: null }] })
  await accept(ana, offered)
  const table = 'public.reservation_history'
  const writes = [`update ${table} set note = null`, `delete from ${table}`, `truncate ${table}`]
  await refuses('42501', 'The history of reservations is append-only', writes)
  await refuses('42501', 'permission denied', writes, 'service_role')
  equal(await asAdmin(`select count(*) from ${table}`), [8])
  const long = `insert into ${table} (reservation_id, conversation_id, status, title, price, date, created_at, note)
    values (${idOf(it)}, ${idOf(ab)}, 'pending', 'A', 0, now(), now(), repeat('x', 501))`
  await refuses('23514', '"note has at most 500 characters"', [long])
  await asAdmin('delete from public.reservations where id = $1', [idOf(it)])
  equal(await sql(`select count(*) from ${table}`), [2])
  await asAdmin('delete from public.conversations where id = $1', [idOf(ab)])
  equal(await sql(`select count(*) from ${table}`), [0])
})

test('a reservation that an admin moves keeps its offerer and host if they are there as well', async () => {
  const { ana, ben, cat, dan, ab, cb, ca } = await meet()
  const ad = await talk(ana, dan)
  // deno-fmt-ignore
  for (const [offerer, to, host, expected, reader] of [
    [ana, ca, ben, { host_id: ana.id, offered_by: ana.id }, cat],
    [ana, ad, ana, { host_id: ana.id, offered_by: ana.id }, dan],
    [ana, cb, ben, { host_id: ben.id, offered_by: null }, cat],
    [ben, cb, ana, { host_id: ben.id, offered_by: ben.id }, cat],
  ] as const) {
    const it = await offer(offerer, ab, { host_id: host.id })
    await change(it, `conversation_id = ${idOf(to)}`)
    // Its new participants read the steps since then.
    const moved = `${to}/reservations/${idOf(it)}`
    is(await reader.get(moved), { ...expected, revision: 1, history: [{ status: 'pending', by: null }] })
    await ana.get(it, 404, 'Reservation not found')
    await (reader === dan ? cat : dan).get(moved, 404, 'Conversation not found')
  }
})

test('an erasure cancels what is open, completes what has ended, and leaves all else', async () => {
  const { ana, ben, cat, ab, cb, ca } = await meet()
  const made: Record<string, [string, string]> = {}
  for (const status of ['pending', ...Object.values(leadsTo), 'completed']) {
    for (const days of [-1, 1]) {
      const fields = { title: `${status} ${days}`, date: inDays(days), status }
      made[fields.title] = [await write(ab, fields), await write(ca, fields)]
      await write(cb, fields)
    }
  }
  for (const who of [ana, ben]) await who.post(`${ab}/reservations`, draft({ client_id: crypto.randomUUID() }), 201)
  const ofOthers = `select reservations::text from public.reservations where conversation_id = ${idOf(cb)} order by id`
  const others = await sql(ofOthers)
  await ana.delete('/users/me')
  const after: Record<string, [status: string, by: number | null]> = {
    ...{ 'pending -1': ['cancelled', null], 'pending 1': ['cancelled', ana.id] },
    ...{ 'accepted -1': ['completed', null], 'accepted 1': ['cancelled', ana.id] },
  }
  for (const [title, [ofBen, ofCat]] of Object.entries(made)) {
    const [status, by] = after[title] ?? [title.split(' ')[0]!, null]
    for (const [who, path] of [[ben, ofBen], [cat, ofCat]] as const) {
      is(await who.get(path), { status })
      equal((await stepsIn(who, path)).at(-1), [status, by, null], title)
    }
  }
  equal(await sql(ofOthers), others)
  const listed = await ben.get('/users/me/reservations?limit=100')
  is(listed.findLast(({ title }: Json) => title === 'accepted 1'), { partner: { name: 'Deleted user' } })
  equal(await sql("select user_id from private.stored_replies where noun = 'reservation'"), [ben.id])
  // Nobody has cancelled it but the admin who erases.
  const it = await offer(cat, cb)
  await sql('select private.erase_person($1)', [cat.id])
  equal(await stepsIn(ben, it), [['pending', cat.id, null], ['cancelled', null, null]])
})
