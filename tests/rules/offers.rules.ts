/** Offers of reservations: their fields and limits, by participants and admins, their keys, their conversation. */
import { allows, equal, idOf, inDays, is, iso, type Json, type Person, refuses, test } from './fixture.ts'
import { change, denied, draft, historyOf, leadsTo, meet, offer, steps, stepsIn, write } from './offers.ts'
import { activate, block } from './talks.ts'

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
    ends_at: [inDays(9), date, after(366 * 864e5 + 1)],
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
    { title: '🏔'.repeat(120), price: 100_000, ends_at: after(366 * 864e5) },
    { title: 'x', price: 0, ends_at: after(1) },
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
