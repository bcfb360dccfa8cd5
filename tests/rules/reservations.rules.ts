/** Reservations as a calendar: without overlaps, as a file, and in a list. */
import { type Caller, equal, idOf, inDays, is, type Json, people, talk, test } from './fixture.ts'
import { accept, change, meet, offer, stepsIn, write } from './offers.ts'
import { block, pagesOf, refusesQueries } from './talks.ts'

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
