/** Reservations: what participants, admins, the clock and an erasure do with them. */
import { stepsOf } from '../../clients/partner.ts'
import { allows, type Answer, asAdmin, type Caller, equal, idOf, inDays, is, iso, type Json } from './fixture.ts'
import { passTime, people, type Person, refuses, sql, talk, test } from './fixture.ts'
import { activate, block, meet as meetFirst, pagesOf, refusesQueries } from './talks.ts'

const day = 24 * 60 * 60 * 1000
const steps = ['accept', 'decline', 'cancel', 'complete']
const leadsTo: Record<string, string> = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' }
const denied = { error: 'You cannot write to this person' }
const draft = (fields: Json = {}) => ({ title: 'A walk', price: 20, date: inDays(10), ...fields })
/** Offers in this conversation; returns the path of the reservation. */
const offer = async (who: Person, conversation: string, fields: Json = {}): Promise<string> =>
  `${conversation}/reservations/${(await who.post(`${conversation}/reservations`, draft(fields), 201)).id}`
const accept = async (who: Person, path: string, status = 200, expected: Json = { status: 'accepted' }) =>
  await who.post(`${path}/accept`, { revision: (await who.get(path)).revision }, status, expected)
/** Offers other terms than those of this moment. */
const counter = async (who: Person, path: string, terms: Json, status = 200, expected?: Json | string) =>
  await who.patch(path, { revision: (await who.get(path)).revision, ...terms }, status, expected)
const historyOf = async (who: Person, path: string): Promise<Json[]> => (await who.get(path)).history
/** The steps of the history: status, by whom, note. */
const stepsIn = async (who: Person, path: string) =>
  (await historyOf(who, path)).map(({ status, by, note }) => [status, by, note])
/** A reservation as an admin writes it, of anything and in the past. */
const write = async (conversation: string, fields: Json = {}): Promise<string> => {
  const all = { conversation_id: idOf(conversation), title: 'Then', price: 1, date: inDays(3), ...fields }
  const [id] = await asAdmin(
    `insert into public.reservations (${Object.keys(all)}) values (${Object.keys(all).map((_, at) => `$${at + 1}`)})
     returning id`,
    Object.values(all),
  )
  return `${conversation}/reservations/${id}`
}
const change = (path: string, set: string) =>
  asAdmin(`update public.reservations set ${set} where id = ${idOf(path)} returning revision`)

/** As in other rules, and Cat has also opened a conversation with Ben. */
const meet = async () => {
  const met = await meetFirst()
  return { ...met, cb: await talk(met.cat, met.ben) }
}

test('an offer has every field, and both read it with its history', async () => {
  const { ana, ben, ab } = await meet()
  const given = { title: ' Zwei Nächte 🏔️', price: 80.5, date: inDays(10), ends_at: inDays(12) }
  const body = await ana.post(`${ab}/reservations`, given, 201)
  const own = { status: 'pending', host_id: ben.id, offered_by: ana.id, revision: 1, createdAt: iso }
  equal(body, { id: body.id, conversation_id: idOf(ab), ...given, ...own, updatedAt: body.createdAt })
  const history = [{ status: 'pending', by: ana.id, note: null, ...given, createdAt: body.createdAt }]
  for (const who of [ana, ben]) equal(await who.get(`${ab}/reservations/${body.id}`), { ...body, history })
  const { title, price, date } = given
  equal((await ben.get(ab)).Reservations, [{ id: body.id, title, price, date, status: 'pending' }])
  // Either can be the host, by default the local; times are understood with their offset.
  await ana.post(`${ab}/reservations`, draft({ host_id: ana.id }), 201, { host_id: ana.id, ends_at: null })
  await ben.post(`${ab}/reservations`, draft(), 201, { host_id: ben.id, offered_by: ben.id })
  const next = new Date().getUTCFullYear() + 1
  const times = { date: `${next}-05-14T16:00:00+02:00`, ends_at: `${next}-05-15T00:00:00.5Z` }
  const inUtc = { date: `${next}-05-14T14:00:00.000Z`, ends_at: `${next}-05-15T00:00:00.500Z` }
  await ana.post(`${ab}/reservations`, draft(times), 201, inUtc)
})

test('an offer with a wrong value is refused, naming the field; the limits are allowed', async () => {
  const { ana, cat, ab } = await meet()
  const date = inDays(10)
  const after = (milliseconds: number) => new Date(Date.parse(date) + milliseconds).toISOString()
  // deno-fmt-ignore
  const wrong: Record<string, unknown[]> = {
    title: ['', ' \n', 'x'.repeat(121), undefined, 'a\0b', 'a\nb', 'a\u202eb'],
    price: [-0.01, 100_000.01, 1.005, '5'],
    date: ['2030-01-01', '2030-01-01T00:00:00', '0000-01-01T00:00:00Z', '9999-12-31T23:00:00-12:00', 1_900_000_000],
    'date: must be in the future': [inDays(-0.001), '2020-01-01T00:00:00Z'],
    ends_at: [inDays(9), date, after(366 * day + 1)],
    'host_id: must be one of the two participants': [cat.id, 999_999_999],
    client_id: ['x'],
  }
  for (const [error, values] of Object.entries(wrong)) {
    const drafts = values.map((value) => draft({ date, [error.split(':')[0]!]: value }))
    for (const one of drafts) await ana.post(`${ab}/reservations`, one, 400, error)
  }
  equal((await ana.get(ab)).Reservations, [])
  // deno-fmt-ignore
  for (const right of [
    { title: '🏔'.repeat(120), price: 100_000, ends_at: after(366 * day) }, { title: 'x', price: 0, ends_at: after(1) },
  ]) await ana.post(`${ab}/reservations`, { date, ...right }, 201, right)
})

test('what admins write is within limits, too', async () => {
  const { ana, ab, cb } = await meet()
  const given = { title: 'Tapas & <i>walk</i> 🚶', price: 1_234_567.89 }
  const path = await write(ab, { ...given, date: '2036-06-10T00:30:00.5+02:00' })
  const shown = { id: idOf(path), ...given, date: '2036-06-09T22:30:00.500Z', status: 'pending' }
  equal((await ana.get(ab)).Reservations, [shown])
  const set = (...fields: string[]) => fields.map((one) => `update public.reservations set ${one}`)
  await allows(set("title = 'x'", "title = repeat('x', 200)", 'price = 0', 'price = 9999999999.99'))
  for (const status of [...Object.values(leadsTo), 'completed', 'pending']) await change(path, `status = '${status}'`)
  await refuses('23514', '"title has 1 to 200 characters"', set("title = ''", "title = repeat('x', 201)"))
  await refuses('23514', '"title is one line that shows something"', set("title = E'\\n'", "title = E'A\\nB'"))
  await refuses('23514', '"price is not negative"', set('price = -0.01', "price = 'NaN'"))
  await refuses('22003', '', set('price = 10000000000'))
  const statuses = '"status is pending, accepted, declined, cancelled or completed"'
  await refuses('23514', statuses, set("status = ''", "status = 'Pending'", "status = 'rejected'"))
  await refuses('23502', 'status', set('status = null'))
  const dates = ['infinity', '-infinity', '0001-12-31 23:59:59.999+00 BC', '10000-01-01 00:00+00']
  const late = "date = '9999-12-31 23:00+00', ends_at = '10000-01-01 00:00+00'"
  const outside = set(...dates.map((date) => `date = '${date}'`), late)
  await refuses('23514', '"date and ends_at are in the years 1 to 9999"', outside)
  const other = idOf(await write(cb))
  for (const field of ['host_id', 'offered_by']) {
    await refuses('23514', `${field} is not a participant`, set(`${field} = ${ana.id} where id = ${other}`))
  }
})

test('the other one answers, either cancels, and each step is once in the history, with its note', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  for (const step of ['accept', 'decline']) {
    await ana.post(`${it}/${step}`, { revision: 1 }, 409, 'Only the other participant can answer this offer')
  }
  const accepted = await ben.post(`${it}/accept`, { revision: 1, note: 'Welcome' }, 200, { status: 'accepted' })
  for (const who of [ben, ana]) equal(await who.post(`${it}/accept`, { revision: 1, note: 'Again' }, 200), accepted)
  await ana.post(`${it}/cancel`, { note: 'x'.repeat(501) }, 400, 'note')
  const note = 'x'.repeat(500)
  const { updatedAt } = await ana.post(`${it}/cancel`, { note }, 200, { status: 'cancelled', offered_by: ana.id })
  const seen = [['pending', ana.id, null], ['accepted', ben.id, 'Welcome'], ['cancelled', ana.id, note]]
  equal(await stepsIn(ben, it), seen)
  is((await historyOf(ben, it))[2].createdAt, updatedAt)
})

test('a counter-offer changes every term and who answers; without a difference nothing happens', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  const terms = { title: 'A climb', price: 25.5, date: inDays(20), ends_at: inDays(21) }
  const countered = await counter(ben, it, terms, 200, { ...terms, status: 'pending', offered_by: ben.id, revision: 2 })
  await accept(ben, it, 409, { error: 'Only the other participant can answer this offer' })
  for (const same of [{}, { price: 25.50, title: 'A climb' }]) equal(await counter(ana, it, same), countered)
  equal(await stepsIn(ana, it), [['pending', ana.id, null], ['pending', ben.id, null]])
  equal((await historyOf(ana, it)).map(({ price }) => price), [20, 25.5])
  for (const wrong of [{ date: inDays(-1) }, { ends_at: inDays(1) }, { price: 0.001 }, { title: null }]) {
    await counter(ana, it, wrong, 400, Object.keys(wrong)[0])
  }
  await counter(ana, it, { ends_at: null }, 200, { ends_at: null, offered_by: ana.id })
  await accept(ben, it)
})

test('what is answered is what was read: any other revision is refused and changes nothing', async () => {
  const { ana, ben, ab } = await meet()
  // deno-fmt-ignore
  for (const [step, fields, status, revision] of [
    ['/accept', { note: 'Yes' }, 'accepted', 2], ['/decline', { note: 'No' }, 'declined', 2],
    ['', { price: 19 }, 'pending', 3],
  ] as const) {
    const it = await offer(ana, ab)
    await ana.patch(it, { revision: 1, price: 100_000, title: 'Another' }, 200, { revision: 2, offered_by: ana.id })
    const before = await ben.get(it)
    const send = async (who: Person, revision: unknown) => {
      const answer = await who.ask(step ? 'POST' : 'PATCH', `${it}${step}`, { ...fields, revision })
      return [answer.status, answer.body, answer.headers.get('X-Error-Code')]
    }
    const stale = (status: string) =>
      [409, { error: 'This offer has changed since it was read', status }, 'stale_revision']
    for (const who of [ana, ben]) for (const other of [1, 3]) equal(await send(who, other), stale('pending'))
    equal(await ben.get(it), before)
    const answer = await send(ben, 2)
    is(answer, [200, { status, revision }, null])
    // A counter-offer has made a revision of its own.
    equal(await send(ben, 2), revision === 2 ? answer : stale(status))
    equal(await send(ben, 1), stale(status))
    is((await historyOf(ana, it)).length, 3)
  }
})

test('each change of the terms is a revision, whoever makes it, and nothing else is', async () => {
  const { ana, ben, ab } = await meet()
  const it = await offer(ana, ab)
  const changes = [{ price: 70 }, { price: 70 }, { title: 'Three' }, { date: inDays(9) }, { ends_at: inDays(12) }]
  for (const [at, one] of changes.entries()) await counter(ben, it, one, 200, { revision: [2, 2, 3, 4, 5][at] })
  await ana.post(`${it}/decline`, { revision: 5 }, 200, { revision: 5 })
  const other = await write(ab, { revision: 7 })
  is((await ana.get(other)).revision, 1)
  // deno-fmt-ignore
  for (const [revision, set] of [
    [2, "title = 'Another'"], [3, 'price = 2'], [4, "date = date + interval '1 hour'"],
    [5, "ends_at = date + interval '1 day'"], [6, 'ends_at = null'], [6, 'price = 2'], [6, 'revision = 1'],
    [6, 'offered_by = null'], [6, `host_id = ${ana.id}, revision = 9`], [6, "status = 'declined'"],
  ] as const) equal(await change(other, set), [revision], set)
})

test('accepted reservations of a host never overlap; back to back and open ends are allowed', async () => {
  const { ana, ben, cat, ab, cb } = await meet()
  await write(ab, { title: 'First', date: '2036-01-10', ends_at: '2036-01-20', status: 'accepted' })
  const [start, end] = ['2036-01-15', '2036-01-16']
  const overlap = '23P01 accepted reservations of a host do not overlap'
  // deno-fmt-ignore
  for (const [expected, date, ends_at, status = 'accepted', host = ben] of [
    [overlap, '2036-01-10', '2036-01-20'], [overlap, '2036-01-12', '2036-01-13'], [overlap, '2036-01-01', '2036-01-31'],
    [overlap, '2036-01-01', '2036-01-10 00:00:00.001'], [overlap, '2036-01-19 23:59:59.999', '2036-01-21'],
    ['', '2036-01-01', '2036-01-10'], ['', '2036-01-20', '2036-01-31'], ['', start, null],
    ['', start, end, 'pending'], ['', start, end, 'completed'], ['', start, end, 'accepted', cat],
  ] as const) {
    const booked = write(cb, { date, ends_at, status, host_id: host.id })
    is(await booked.then(() => '', (error) => `${error.code} ${error.constraint}`), expected, `${date} ${ends_at} `)
  }
  const taken = { error: 'The host has another reservation at that time', status: 'pending' }
  const inside = await offer(cat, cb, { date: `${start}T00:00:00Z`, ends_at: `${end}T00:00:00Z` })
  await accept(ben, inside, 409, taken)
  // A guest who blocks the host cannot keep their calendar, and no words cross the block.
  const long = await offer(ana, ab, { date: inDays(20), ends_at: inDays(380) })
  await accept(ben, long)
  await block(ana, ben)
  const other = await offer(cat, cb, { date: inDays(20), ends_at: inDays(21) })
  await accept(ben, other, 409, taken)
  await ben.post(`${long}/cancel`, { note: 'Words across a block' }, 200, { status: 'cancelled' })
  await accept(ben, other)
  for (const who of [ana, ben]) equal((await stepsIn(who, long)).at(-1), ['cancelled', ben.id, null])
})

test('a key makes one reservation, and returns the first answer for ever', async () => {
  const { ana, ben, cat, ab, cb } = await meet()
  const [key, body, list] = [crypto.randomUUID(), draft(), `${ab}/reservations`]
  const send = (who: Person, fields: Json, status: number, expected?: Json, path = list) =>
    who.post(path, { ...body, client_id: key, ...fields }, status, expected)
  const first = await send(ben, {}, 201)
  const again = await ben.ask('POST', list, body, { 'Idempotency-Key': key })
  equal([again.status, again.body, again.headers.get('Idempotency-Replayed')], [201, first, 'true'])
  // Nouns have keys of their own.
  await ben.post('/users/me/reports', { user_id: ana.id, reason: 'spam', client_id: key }, 201, { status: 'open' })
  await ana.patch(`${list}/${first.id}`, { revision: 1, price: 1 })
  await ben.post(`${list}/${first.id}/decline`, { revision: 2 }, 200)
  equal(await send(ben, { client_id: key.toUpperCase(), host_id: ben.id, ends_at: null, price: 20.0 }, 201), first)
  is((await historyOf(ben, `${list}/${first.id}`)).length, 3)
  const used = 'This idempotency key was used for another reservation'
  // deno-fmt-ignore
  for (const other of [
    { price: 21 }, { title: 'B' }, { date: inDays(11) }, { ends_at: inDays(12) }, { host_id: ana.id },
  ]) await send(ben, other, 422, used)
  await send(ben, {}, 422, used, `${cb}/reservations`)
  const [other, ofAna] = [await send(ben, { client_id: crypto.randomUUID() }, 201), await send(ana, {}, 201)]
  is(new Set([first.id, other.id, ofAna.id]).size, 3)
  await block(ana, ben)
  for (const who of [ana, ben]) equal(await who.post(list, draft(), 403), denied)
  equal(await send(ben, {}, 201), first)
  await activate(cat, false)
  equal(await ben.post(`${cb}/reservations`, draft(), 403), denied)
  await cat.post(`${cb}/reservations`, draft(), 403, 'This account is deactivated')
})

test('what is agreed is a file for a calendar, of the two and nobody else, and nothing before is', async () => {
  const { ana, ben, cat, ab } = await meet()
  const path = await offer(ana, ab, { title: 'Tea; and\u00a0cake, at five', date: '2042-05-14T16:00:00Z' })
  const file = `${path}.ics`
  await ben.get(file, 409, 'not agreed')
  await accept(ben, path)
  const answer = await ben.ask('GET', file)
  equal([answer.status, answer.headers.get('Content-Type')], [200, 'text/calendar; charset=utf-8'])
  is(answer.text, /\r\nEND:VCALENDAR\r\n$/)
  is(answer.headers.get('Content-Disposition')!, /^attachment; filename="reservation-\d+\.ics"$/)
  const lines = answer.text.split('\r\n')
  // deno-fmt-ignore
  for (const line of [
    'BEGIN:VCALENDAR', `UID:reservation-${idOf(path)}@127.0.0.1:54321`, 'SEQUENCE:1', 'DTSTART:20420514T160000Z',
    'SUMMARY:Tea\\; and\u00a0cake\\, at five', 'STATUS:CONFIRMED',
  ]) is(lines.includes(line), true, `${line} in ${answer.text}`)
  is(answer.text.includes('DTEND'), false)
  await cat.get(file, 404)
  await ana.get(`${ab}/reservations/999999999.ics`, 404)
  await ana.get(`${ab}/reservations/x.ics`, 400, 'rid')
  const other = await write(ab, { status: 'accepted', ends_at: inDays(4) })
  is((await ana.ask('GET', `${other}.ics`)).text, /DTEND:\d{8}T\d{6}Z/)
  await ana.post(`${path}/cancel`, {}, 200)
  await ana.get(file, 409, 'not agreed')
})

test('a reservation belongs to its conversation', async () => {
  const { ana, ben, ab, cb } = await meet()
  await ana.get(cb, 404, 'Conversation not found')
  const id = idOf(await offer(ana, ab))
  const answers = steps.map((step) => ['POST', `/${step}`, { revision: 1 }] as const)
  for (const [method, end, body] of [['GET', ''], ['PATCH', '', { revision: 1 }], ...answers] as const) {
    for (const one of [id, 999_999_999]) {
      await ben.expect(method, `${cb}/reservations/${one}${end}`, body, 404, { error: 'Reservation not found' })
    }
    await ana.expect(method, `${cb}/reservations/${id}${end}`, body, 404, { error: 'Conversation not found' })
  }
  equal(await stepsIn(ana, `${ab}/reservations/${id}`), [['pending', ana.id, null]])
})

test('a partner who is blocked, suspended or erased answers as docs/architecture.md says', async () => {
  const page = await Deno.readTextFile(new URL('../../docs/architecture.md', import.meta.url))
  const [head, , ...rows] = page.split('| the caller')[1]!.split('\n\n')[0]!.split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()).filter((cell) => cell !== ''))
  const cuts: Record<string, (me: Person, partner: Person) => Promise<unknown>> = {
    active: () => Promise.resolve(),
    'blocked by the caller': (me, partner) => block(me, partner),
    'has blocked the caller': (me, partner) => block(partner, me),
    suspended: (_, partner) => activate(partner, false),
    hidden: (_, partner) => asAdmin("select public.restrict_person($1, 'hide', 'Test')", [partner.id]),
    erased: (_, partner) => partner.delete('/users/me'),
  }
  equal(head, Object.keys(cuts))
  equal(rows.map(([step]) => step), ['offers', 'changes', 'accepts', 'declines', 'cancels', 'completes', 'reads'])
  for (const [at, cut] of head!.entries()) {
    const [partner, me] = await people(`partner ${at}`, `me ${at}`)
    const path = await talk(partner, me)
    const of: Record<string, string> = {}
    for (const [step] of rows) of[step!] = await offer(partner, path)
    for (const step of ['cancels', 'completes']) await accept(me, of[step]!)
    await cuts[cut]!(me, partner)
    const answers: Record<string, () => Promise<Answer>> = {
      offers: () => me.ask('POST', `${path}/reservations`, draft()),
      changes: () => me.ask('PATCH', of.changes!, { revision: 1, price: 1 }),
      accepts: () => me.ask('POST', `${of.accepts}/accept`, { revision: 1 }),
      declines: () => me.ask('POST', `${of.declines}/decline`, { revision: 1 }),
      cancels: () => me.ask('POST', `${of.cancels}/cancel`, { note: 'Sorry' }),
      completes: () => me.ask('POST', `${of.completes}/complete`),
      reads: () => me.ask('GET', of.reads!),
    }
    for (const [step, ...cells] of rows) {
      const { status, body, headers } = await answers[step!]!()
      const [expected, remark] = cells[at]!.split(', ')
      equal([cut, step, status], [cut, step, Number(expected)])
      const code = cut === 'blocked by the caller' ? 'blocked' : 'forbidden'
      if (status === 403) equal([body, headers.get('X-Error-Code')], [denied, code])
      if (step === 'cancels') is((await stepsIn(me, of.cancels!)).at(-1), ['cancelled', /./, remark ? null : 'Sorry'])
    }
  }
})

test('each step leads from a status or is 409 with it, as the client says; a repeat changes nothing', async () => {
  const { ana, ben, ab } = await meet()
  for (const [before, status] of [['', 'pending'], ...Object.entries(leadsTo)]) {
    for (const [who, step] of [ana, ben].flatMap((who) => [...steps, 'change'].map((step) => [who, step] as const))) {
      const it = await offer(ana, ab)
      if (before) await ben.post(`${it}/${before}`, { revision: 1 }, 200)
      const reservation = await who.get(it)
      const { status: code, body } = step === 'change'
        ? await who.ask('PATCH', it, { revision: 1, price: 1 })
        : await who.ask('POST', `${it}/${step}`, { revision: 1, note: 'Again' })
      const { history, ...shown } = reservation
      const isRepeat = step === before
      const isTaken = (stepsOf(reservation, who.id, true) as string[]).includes(step)
      is([before, who.name, step, code === 200], [before, who.name, step, isTaken || isRepeat])
      if (isRepeat) equal(body, shown)
      const isEarly = step === 'complete' && status === 'accepted'
      const isOwn = (step === 'accept' || step === 'decline') && status === 'pending'
      const why = isOwn ? 'Only the other participant can answer this offer' : `This reservation is ${status}`
      if (!isTaken && !isRepeat) equal(body, { status, error: isEarly ? 'This reservation has not ended yet' : why })
      is((await historyOf(ana, it)).length, history.length + (isTaken && !isRepeat ? 1 : 0))
    }
  }
})

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

test('the list: pages through all conversations, newest first, with filters and the partner', async () => {
  const { ana, ben, cat, dan, ab, cb, ca } = await meet()
  for (const date of [1, 2, 3]) {
    for (const [place, path] of [ab, ca, cb].entries()) {
      await write(path, { title: `${place + 1} ${date}`, date: `2036-01-0${date + 1}T00:00:00Z` })
    }
  }
  const titlesIn = (rows: Json[]) => rows.map(({ title }) => title).join()
  const list = async (who: Caller, query = '') => titlesIn(await who.get(`/users/me/reservations?${query}`))
  is(await list(ana), '2 3,1 3,2 2,1 2,2 1,1 1')
  is(await list(ben), '3 3,1 3,3 2,1 2,3 1,1 1')
  is(await list(dan), '')
  const all = await ana.get('/users/me/reservations')
  for (const [at, path, { id, name }] of [[0, ca, cat], [1, ab, ben]] as const) {
    const { history, ...single } = await ana.get(`${path}/reservations/${all[at].id}`)
    equal([all[at], history.length], [{ ...single, partner: { id, name } }, 1])
  }
  is(titlesIn((await ana.get(ab)).Reservations), '1 1,1 2,1 3')
  for (const [limit, pages] of [[2, '2 3,1 3/2 2,1 2/2 1,1 1'], [4, '2 3,1 3,2 2,1 2/2 1,1 1']] as const) {
    const found = await pagesOf(ana, `/users/me/reservations?limit=${limit}&status=pending`)
    is(found.map(titlesIn).join('/'), pages)
  }
  await change(`/reservations/${all[3].id}`, "status = 'accepted'")
  // deno-fmt-ignore
  for (const [query, titles] of [
    [`before_id=${all[3].id}&limit=1000`, '2 1,1 1'], ['from=2036-01-03T00:00:00Z', '2 3,1 3,2 2,1 2'],
    ['to=2036-01-03T00:00:00Z', '2 1,1 1'], ['from=2000-01-01&to=2036-01-03', '2 1,1 1'],
    ['from=2036-01-03&to=2036-01-03', ''], ['status=accepted', '1 2'], ['status=pending', '2 3,1 3,2 2,2 1,1 1'],
  ] as const) is(await list(ana, query), titles, query)
  await change(`/reservations/${all[5].id}`, "date = '9999-12-31 23:59:59.999+00'")
  is(await list(ana), '2 3,1 3,2 2,1 2,2 1,1 1')
  is(titlesIn((await ana.get(ab)).Reservations), '1 2,1 3,1 1')
  const { conversations } = await ana.get('/users/me/export')
  equal(conversations.map(({ Reservations }: Json) => Reservations.length), [3, 3])
  const [eve] = await people('eve')
  await write(await talk(dan, eve), { title: 'Their only one' })
  equal([await list(dan), await list(eve)], ['Their only one', 'Their only one'])
  await refusesQueries(ana, '/users/me/reservations', 'to=2030-13-01', 'from=0000-01-01')
})
