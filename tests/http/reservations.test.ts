import { readFileSync } from 'node:fs'
import { stepsOf } from '../../clients/reservations.ts'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, dataApi, openConversation, type Person, signUp } from '../tools/people.ts'
import { expectError, idsOf, isoTimestamp, nextPath, resultOf } from '../tools/responses.ts'

const day = 24 * 60 * 60 * 1000
/** A moment so many days from now. */
const ahead = (days: number): string => new Date(Date.now() + days * day).toISOString()

let ana: Person, cleo: Person
beforeAll(async () => {
  ;[ana, cleo] = await Promise.all([signUp('Ana'), signUp('Cleo')])
})

/** A voyager and a local of their own, with a conversation. */
const pair = async () => {
  const [voyager, local] = await Promise.all([signUp('Voyager'), signUp('Local')])
  return { voyager, local, path: `/conversations/${await openConversation(voyager, local)}/reservations` }
}
/** Accepts what is offered at this moment. */
const accept = async (who: Person, address: string, body: object = {}): Promise<Answer> => {
  const { revision = 1 } = (await who.call('GET', address)).body
  return await who.call('POST', `${address}/accept`, { revision, ...body })
}
const draft = (fields: object = {}) => ({ title: 'Two nights', price: 80.5, date: ahead(10), ...fields })

describe('the life of a reservation', () => {
  let voyager: Person, local: Person, path: string
  beforeEach(async () => {
    ;({ voyager, local, path } = await pair())
  })
  const offer = async (who: Person, fields: object = {}, headers = {}): Promise<Answer> =>
    await who.call('POST', path, draft(fields), { headers })
  const step = async (who: Person, id: number, name: string, body?: object) =>
    name === 'accept' ? await accept(who, `${path}/${id}`, body) : await who.call('POST', `${path}/${id}/${name}`, body)
  const read = async (who: Person, id: number) => (await who.call('GET', `${path}/${id}`)).body

  test('an offer has every field, and both participants read it with its history', async () => {
    const given = { title: ' Zwei Nächte 🏔️', price: 80.5, date: ahead(10), ends_at: ahead(12) }
    const { status, body } = await voyager.call('POST', path, given)
    const conversation_id = Number(path.split('/')[2])
    const offered = {
      id: expect.any(Number),
      conversation_id,
      ...given,
      status: 'pending',
      host_id: local.id,
      offered_by: voyager.id,
      revision: 1,
      createdAt: isoTimestamp,
      updatedAt: body.createdAt,
    }
    expect({ status, body }).toEqual({ status: 201, body: offered })
    expect(Math.abs(Date.parse(body.createdAt) - Date.now())).toBeLessThan(60_000)
    const history = [{ status: 'pending', by: voyager.id, note: null, ...given, createdAt: body.createdAt }]
    for (const reader of [voyager, local]) expect(await read(reader, body.id)).toEqual({ ...body, history })
    const detail = await local.call('GET', `/conversations/${conversation_id}`)
    const { id, title, price, date } = body
    expect(detail.body.Reservations).toEqual([{ id, title, price, date, status: 'pending' }])
  })

  test('either participant can be the host, and nobody else', async () => {
    expect((await offer(voyager, { host_id: voyager.id })).body).toMatchObject({ host_id: voyager.id })
    expect((await offer(local)).body).toMatchObject({ host_id: local.id, offered_by: local.id })
    expectError(await offer(voyager, { host_id: ana.id }), 400, 'host_id')
    expectError(await offer(voyager, { host_id: 999_999_999 }), 400, 'host_id')
  })

  test('offset, seconds and milliseconds of a date are understood, and printed in UTC', async () => {
    const year = new Date().getUTCFullYear() + 1
    const { body } = await offer(voyager, {
      date: `${year}-05-14T16:00:00+02:00`,
      ends_at: `${year}-05-15T00:00:00.5Z`,
    })
    expect(body).toMatchObject({ date: `${year}-05-14T14:00:00.000Z`, ends_at: `${year}-05-15T00:00:00.500Z` })
  })

  const wrong: [string, object][] = [
    ['title', { title: '' }],
    ['title', { title: ' \n' }],
    ['title', { title: 'x'.repeat(121) }],
    ['title', { title: undefined }],
    ['title', { title: 'a\0b' }],
    ['price', { price: -0.01 }],
    ['price', { price: 100_000.01 }],
    ['price', { price: 1.005 }],
    ['price', { price: '5' }],
    ['date', { date: ahead(-0.001) }],
    ['date', { date: '2030-01-01' }],
    ['date', { date: '2030-01-01T00:00:00' }],
    ['date', { date: '0000-01-01T00:00:00Z' }],
    ['date', { date: '9999-12-31T23:00:00-12:00' }],
    ['date', { date: 1_900_000_000 }],
    ['ends_at', { ends_at: ahead(9) }],
    ['ends_at', { ends_at: ahead(376.1) }],
    ['client_id', { client_id: 'x' }],
  ]
  test('an offer with a wrong value is 400 naming the field, and nothing is offered', async () => {
    for (const [field, fields] of wrong) expectError(await offer(voyager, fields), 400, field)
    expect((await voyager.call('GET', path.replace('/reservations', ''))).body.Reservations).toEqual([])
  })

  test('the limits themselves are allowed', async () => {
    const date = ahead(10)
    const ends_at = new Date(Date.parse(date) + 366 * day).toISOString()
    for (const fields of [{ title: '🏔'.repeat(120), price: 100_000, date, ends_at }, { title: 'x', price: 0 }]) {
      expect((await offer(voyager, fields)).status).toBe(201)
    }
    expectError(
      await offer(voyager, { date, ends_at: new Date(Date.parse(ends_at) + 1).toISOString() }),
      400,
      'ends_at',
    )
  })

  test('the other participant accepts, and then either cancels, with a note', async () => {
    const { body: { id } } = await offer(voyager)
    expect((await step(local, id, 'accept', { note: 'Welcome' })).body).toMatchObject({ id, status: 'accepted' })
    const { status, body } = await step(voyager, id, 'cancel', { note: 'x'.repeat(500) })
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'cancelled', offered_by: voyager.id } })
    const { history, updatedAt } = await read(local, id)
    expect(history.map(({ status, by, note }: Answer['body']) => [status, by, note])).toEqual([
      ['pending', voyager.id, null],
      ['accepted', local.id, 'Welcome'],
      ['cancelled', voyager.id, 'x'.repeat(500)],
    ])
    expect(history[2].createdAt).toBe(updatedAt)
    expectError(await step(voyager, id, 'cancel', { note: 'x'.repeat(501) }), 400, 'note')
  })

  test('whoever made the offer cannot answer it, and can withdraw it', async () => {
    const { body: { id } } = await offer(voyager)
    for (const name of ['accept', 'decline']) {
      expect(resultOf(await step(voyager, id, name)))
        .toEqual({ status: 409, body: { error: expect.any(String), status: 'pending' } })
    }
    expect((await step(voyager, id, 'cancel')).body.status).toBe('cancelled')
  })

  test('a counter-offer is answered by the other one; without a difference nothing happens', async () => {
    const { body: { id, title, date } } = await offer(voyager)
    const countered = await local.call('PATCH', `${path}/${id}`, { price: 70, ends_at: ahead(11) })
    expect(resultOf(countered)).toMatchObject({ status: 200, body: { title, price: 70, date, offered_by: local.id } })
    expect((await step(local, id, 'accept')).status).toBe(409)
    for (const same of [{}, { price: 70, title }]) {
      expect(resultOf(await voyager.call('PATCH', `${path}/${id}`, same))).toEqual(resultOf(countered))
    }
    const { history } = await read(voyager, id)
    expect(history.map(({ by, price }: Answer['body']) => [by, price])).toEqual([[voyager.id, 80.5], [local.id, 70]])
    expect((await voyager.call('PATCH', `${path}/${id}`, { ends_at: null })).body)
      .toMatchObject({ ends_at: null, offered_by: voyager.id })
    for (const wrong of [{ date: ahead(-1) }, { ends_at: ahead(1) }, { price: 0.001 }, { title: null }]) {
      expectError(await voyager.call('PATCH', `${path}/${id}`, wrong), 400, Object.keys(wrong)[0])
    }
    expect((await step(local, id, 'accept')).body.status).toBe('accepted')
    expect(resultOf(await voyager.call('PATCH', `${path}/${id}`, { price: 1 })))
      .toEqual({ status: 409, body: { error: expect.any(String), status: 'accepted' } })
  })

  test('repeating a step changes nothing, and every other step is 409 with the status', async () => {
    const names = { accept: 'accepted', decline: 'declined', cancel: 'cancelled', complete: 'completed' }
    for (const [first, status] of Object.entries(names).slice(0, 3)) {
      const { body: { id } } = await offer(voyager)
      const answer = await step(local, id, first)
      expect(resultOf(answer)).toMatchObject({ status: 200, body: { status } })
      expect(resultOf(await step(local, id, first, { note: 'Again' }))).toEqual(resultOf(answer))
      for (
        const name of Object.keys(names).filter((name) => name !== first && !(name === 'cancel' && first === 'accept'))
      ) {
        expect(resultOf(await step(local, id, name))).toEqual({
          status: 409,
          body: { error: expect.any(String), status },
        })
      }
      expect((await read(local, id)).history).toHaveLength(2)
    }
  })

  test('the client says which steps the service takes, for each status, person and step', async () => {
    const leadsTo = { accept: 'accepted', decline: 'declined', change: 'pending', cancel: 'cancelled' }
    for (const before of [null, 'accept', 'decline', 'cancel'] as const) {
      for (const who of [voyager, local]) {
        for (const name of ['accept', 'decline', 'change', 'cancel'] as const) {
          const { body: { id } } = await offer(voyager, { date: ahead(10), ends_at: null })
          if (before) await step(local, id, before)
          const reservation = await read(who, id)
          // A repeat is answered as the first time.
          if (reservation.status === leadsTo[name] && name !== 'change') continue
          const { status } = name === 'change'
            ? await who.call('PATCH', `${path}/${id}`, { price: 1 })
            : await step(who, id, name)
          const can = stepsOf(reservation, who.id, true)
          expect([before, name, who === voyager, status === 200]).toEqual([
            before,
            name,
            who === voyager,
            can.includes(name),
          ])
          await who.call('POST', `${path}/${id}/cancel`)
        }
      }
    }
  })

  test('a host is not booked twice at a time; back to back and open ends are allowed', async () => {
    const [start, end] = [ahead(20), ahead(22)]
    const { body: first } = await offer(voyager, { date: start, ends_at: end })
    expect((await step(local, first.id, 'accept')).status).toBe(200)
    const another = await signUp('Another')
    const elsewhere = `/conversations/${await openConversation(another, local)}/reservations`
    const acceptAnother = async (fields: object) => {
      const { body: { id } } = await another.call('POST', elsewhere, draft(fields))
      return await accept(local, `${elsewhere}/${id}`)
    }
    expect(resultOf(await acceptAnother({ date: ahead(21), ends_at: ahead(30) })))
      .toEqual({ status: 409, body: { error: 'The host has another reservation at that time', status: 'pending' } })
    expect((await acceptAnother({ date: end, ends_at: ahead(23) })).status).toBe(200)
    expect((await acceptAnother({ date: ahead(19), ends_at: start })).status).toBe(200)
    expect((await acceptAnother({ date: ahead(21) })).status).toBe(200)
    expect((await acceptAnother({ date: ahead(21), ends_at: ahead(30), host_id: another.id })).status).toBe(200)
    await step(voyager, first.id, 'cancel')
    expect((await acceptAnother({ date: ahead(20.5), ends_at: ahead(21) })).status).toBe(200)
  })

  test('an Idempotency-Key or client_id makes one reservation, and returns the first answer for ever', async () => {
    const key = crypto.randomUUID()
    const body = draft()
    const send = (content: object = body, headers: Record<string, string> = { 'Idempotency-Key': key }) =>
      voyager.call('POST', path, content, { headers })
    const answers = await Promise.all(Array.from({ length: 6 }, () => send()))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201))
    expect(answers.filter(({ headers }) => !headers.has('Idempotency-Replayed'))).toHaveLength(1)
    const { id } = answers[0]!.body
    await local.call('PATCH', `${path}/${id}`, { price: 1 })
    await step(voyager, id, 'accept')
    await local.call('PUT', `/users/me/blocks/${voyager.id}`)
    const again = await send({ ...body, client_id: key.toUpperCase(), host_id: local.id, ends_at: null }, {})
    expect(again.text).toBe(answers[0]!.text)
    expectError(await send({ ...body, price: 1 }), 422)
    expectError(await send({ ...body, client_id: crypto.randomUUID() }), 400, 'client_id')
    expectError(await send(body, { 'Idempotency-Key': 'x' }), 400, 'idempotency-key')
    expectError(await send(body, { 'Idempotency-Key': crypto.randomUUID() }), 403)
    const second = await openConversation(voyager, ana)
    expectError(
      await voyager.call('POST', `/conversations/${second}/reservations`, body, {
        headers: { 'Idempotency-Key': key },
      }),
      422,
    )
    // Keys belong to their sender.
    const mine = await ana.call('POST', `/conversations/${second}/reservations`, { ...body, client_id: key })
    expect(mine.status).toBe(201)
    expect(mine.body.id).not.toBe(id)
  })

  test('outsiders learn nothing, and a reservation belongs to its conversation', async () => {
    const { body: { id } } = await offer(voyager)
    const elsewhere = `/conversations/${await openConversation(voyager, ana)}/reservations`
    const routes = [
      ['GET', ''],
      ['PATCH', ''],
      ...['accept', 'decline', 'cancel', 'complete'].map((one) => ['POST', `/${one}`]),
    ]
    for (const [method, end] of routes) {
      const body = method === 'GET' ? undefined : method === 'PATCH' ? {} : { revision: 1 }
      const others = await cleo.call(method!, `${path}/${id}${end}`, body)
      expectError(others, 404)
      expect(others.text).toBe(
        (await cleo.call(method!, `/conversations/999999999/reservations/${id}${end}`, body)).text,
      )
      for (const who of [voyager, ana]) {
        const unknown = await who.call(method!, `${elsewhere}/999999999${end}`, body)
        const foreign = await who.call(method!, `${elsewhere}/${id}${end}`, body)
        expectError(foreign, 404)
        expect(foreign.text).toBe(unknown.text)
      }
    }
    expectError(await cleo.call('POST', path, draft()), 404)
    expect((await read(voyager, id)).history).toHaveLength(1)
  })

  test('what is accepted is what was read: anything newer is 409 and changes nothing', async () => {
    const { body: { id } } = await offer(voyager)
    const own = await voyager.call('PATCH', `${path}/${id}`, { price: 100_000, title: 'Another' })
    expect(own.body).toMatchObject({ revision: 2, offered_by: voyager.id })
    const before = await read(local, id)
    for (const revision of [1, 3]) {
      const stale = await local.call('POST', `${path}/${id}/accept`, { revision })
      expect(resultOf(stale))
        .toEqual({ status: 409, body: { error: 'This offer has changed since it was read', status: 'pending' } })
      expect(stale.headers.get('X-Error-Code')).toBe('stale_revision')
    }
    for (const body of [undefined, {}, { note: 'Yes' }]) {
      expectError(await local.call('POST', `${path}/${id}/accept`, body ?? {}), 400, 'revision')
    }
    for (const revision of [0, -1, 1.5, '2', null, 2 ** 31]) {
      expectError(await local.call('POST', `${path}/${id}/accept`, { revision }), 400, 'revision')
    }
    expect(await read(local, id)).toEqual(before)
    const accepted = await local.call('POST', `${path}/${id}/accept`, { revision: 2 })
    expect(accepted.body).toMatchObject({ status: 'accepted', revision: 2, price: 100_000 })
    expect(resultOf(await local.call('POST', `${path}/${id}/accept`, { revision: 2 }))).toEqual(resultOf(accepted))
    expect(resultOf(await local.call('POST', `${path}/${id}/accept`, { revision: 1 })))
      .toMatchObject({ status: 409, body: { status: 'accepted' } })
  })

  test('each change of the terms is a revision, whoever makes it, and nothing else is', async () => {
    const { body: { id } } = await offer(voyager)
    const changes = [{ price: 70 }, { price: 70 }, { title: 'Three nights' }, { date: ahead(9) }, {
      ends_at: ahead(12),
    }]
    const seen = []
    for (const change of changes) seen.push((await local.call('PATCH', `${path}/${id}`, change)).body.revision)
    expect(seen).toEqual([2, 2, 3, 4, 5])
    await asAdmin('PATCH', `reservations?id=eq.${id}`, { price: 71, revision: 1 })
    await asAdmin('PATCH', `reservations?id=eq.${id}`, { host_id: voyager.id, revision: 9 })
    expect((await read(local, id)).revision).toBe(6)
    expect((await step(voyager, id, 'decline')).body.revision).toBe(6)
  })

  test('a guest who blocks the host cannot keep their calendar: it is free as soon as the host cancels', async () => {
    const date = ahead(20)
    const long = await offer(voyager, { date, ends_at: ahead(380) })
    await step(local, long.body.id, 'accept')
    await voyager.call('PUT', `/users/me/blocks/${local.id}`)
    const elsewhere = `/conversations/${await openConversation(ana, local)}/reservations`
    const other = await ana.call('POST', elsewhere, draft({ date, ends_at: ahead(21) }))
    expect((await accept(local, `${elsewhere}/${other.body.id}`)).status).toBe(409)
    const left = await step(local, long.body.id, 'cancel', { note: 'Words across a block' })
    expect(resultOf(left)).toMatchObject({ status: 200, body: { status: 'cancelled' } })
    expect((await accept(local, `${elsewhere}/${other.body.id}`)).body.status).toBe('accepted')
    for (const reader of [voyager, local]) {
      expect((await read(reader, long.body.id)).history.at(-1)).toMatchObject({ status: 'cancelled', note: null })
    }
  })
})

describe('the table of docs/architecture.md', () => {
  const [head, , ...rows] = readFileSync('docs/architecture.md', 'utf8')
    .split('| the caller')[1]!.split('\n\n')[0]!.split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()).filter((cell) => cell !== ''))
  /** What becomes of the partner, by the column's heading. */
  const cuts: Record<string, (me: Person, partner: Person) => Promise<unknown>> = {
    active: () => Promise.resolve(),
    'blocked by the caller': (me, partner) => me.call('PUT', `/users/me/blocks/${partner.id}`),
    'has blocked the caller': (me, partner) => partner.call('PUT', `/users/me/blocks/${me.id}`),
    suspended: (_, partner) => asAdmin('PATCH', `users?id=eq.${partner.id}`, { is_active: false }),
    hidden: (_, partner) =>
      asAdmin('POST', 'rpc/restrict_person', { person: partner.id, restriction: 'hide', note: 'Test' }),
    erased: (_, partner) => partner.call('DELETE', '/users/me'),
  }
  test('names each of them', () => {
    expect(head).toEqual(Object.keys(cuts))
    expect(rows.map(([step]) => step)).toEqual([
      'offers',
      'changes',
      'accepts',
      'declines',
      'cancels',
      'completes',
      'reads',
    ])
  })

  test.each(Object.keys(cuts).map((cut, index) => [cut, index + 1] as const))(
    'holds where the partner is: %s',
    async (cut, column) => {
      const { voyager: partner, local: me, path } = await pair()
      const ids: Record<string, number> = {}
      for (const [name] of rows) ids[name!] = (await partner.call('POST', path, draft())).body.id
      const agreed = (await partner.call('POST', path, draft())).body.id
      for (const id of [agreed, ids.completes]) await accept(me, `${path}/${id}`)
      await cuts[cut]!(me, partner)
      const of = (name: string) => `${path}/${ids[name]}`
      const calls: Record<string, () => Promise<Answer>> = {
        offers: () => me.call('POST', path, draft()),
        changes: () => me.call('PATCH', of('changes'), { price: 1 }),
        accepts: () => me.call('POST', `${of('accepts')}/accept`, { revision: 1 }),
        declines: () => me.call('POST', `${of('declines')}/decline`),
        cancels: () => me.call('POST', `${path}/${agreed}/cancel`, { note: 'Sorry' }),
        completes: () => me.call('POST', `${of('completes')}/complete`),
        reads: () => me.call('GET', `${path}/${agreed}`),
      }
      const found: [string, number][] = []
      for (const [name] of rows) found.push([name!, (await calls[name!]!()).status])
      expect(found).toEqual(rows.map((row) => [row[0], parseInt(row[column]!)]))
      const { status, history } = (await me.call('GET', `${path}/${agreed}`)).body
      expect(status).toBe('cancelled')
      const { note } = history.at(-1)
      expect(note).toBe(rows.find(([name]) => name === 'cancels')![column]!.includes('no note') ? null : 'Sorry')
    },
  )
})

describe('the clock', () => {
  /** As an admin, because participants cannot agree on something in the past. */
  const write = async (conversation_id: number, fields: object): Promise<number> =>
    (await asAdmin('POST', 'reservations', { conversation_id, title: 'Then', price: 1, ...fields })).body[0].id

  test('cancels what is pending after its date, and completes what is accepted after its end', async () => {
    const { voyager, local, path } = await pair()
    const conversation = Number(path.split('/')[2])
    const expected = [
      [{ status: 'pending', date: ahead(-2), ends_at: ahead(2) }, 'cancelled', 2],
      [{ status: 'accepted', date: ahead(-2) }, 'completed', 2],
      [{ status: 'accepted', date: ahead(-3), ends_at: ahead(-1) }, 'completed', 2],
      [{ status: 'accepted', date: ahead(-1), ends_at: ahead(1) }, 'accepted', 1],
      [{ status: 'declined', date: ahead(-2) }, 'declined', 1],
    ] as const
    const ids = await Promise.all(expected.map(([fields]) => write(conversation, fields)))
    const detail = (await voyager.call('GET', `/conversations/${conversation}`)).body.Reservations
    const list = (await voyager.call('GET', '/users/me/reservations')).body
    const exported = (await local.call('GET', '/users/me/export')).body.conversations[0].Reservations
    for (const [index, [, status, steps]] of expected.entries()) {
      const isIt = ({ id }: Answer['body']) => id === ids[index]
      const { body } = await local.call('GET', `${path}/${ids[index]}`)
      expect(body).toMatchObject({ status, history: { length: steps } })
      expect(body.history.map(({ by }: Answer['body']) => by)).toEqual(Array(steps).fill(null))
      expect([detail.find(isIt).status, list.find(isIt).status, exported.find(isIt).status]).toEqual(
        Array(3).fill(status),
      )
    }
    const found = await voyager.call('GET', '/users/me/reservations?status=completed')
    expect(idsOf(found.body).sort()).toEqual([ids[1], ids[2]].sort())
    expect((await voyager.call('GET', '/users/me/reservations?status=pending')).body).toEqual([])
  })

  test('has taken its step before anybody acts', async () => {
    const { voyager, local, path } = await pair()
    const conversation = Number(path.split('/')[2])
    const late = await write(conversation, { status: 'pending', date: ahead(-1) })
    for (const name of ['accept', 'decline', 'complete']) {
      expect(resultOf(await local.call('POST', `${path}/${late}/${name}`, { revision: 1 })))
        .toEqual({ status: 409, body: { error: expect.any(String), status: 'cancelled' } })
    }
    expect((await local.call('PATCH', `${path}/${late}`, { date: ahead(1) })).body.status).toBe('cancelled')
    expect((await voyager.call('POST', `${path}/${late}/cancel`)).status).toBe(200)
    const over = await write(conversation, { status: 'accepted', date: ahead(-1) })
    expect((await voyager.call('POST', `${path}/${over}/complete`)).body.status).toBe('completed')
    expect((await voyager.call('POST', `${path}/${over}/cancel`)).body.status).toBe('completed')
    const current = await write(conversation, { status: 'accepted', date: ahead(-1), ends_at: ahead(1) })
    expect(resultOf(await voyager.call('POST', `${path}/${current}/complete`)))
      .toEqual({ status: 409, body: { error: expect.any(String), status: 'accepted' } })
    await voyager.call('DELETE', '/users/me')
    for (const [id, status] of [[late, 'cancelled'], [over, 'completed'], [current, 'cancelled']] as const) {
      expect((await local.call('GET', `${path}/${id}`)).body.status).toBe(status)
    }
  })
})

describe("admins' writes", () => {
  test('are in the history, and either participant can answer their offer', async () => {
    const { voyager, local, path } = await pair()
    const conversation_id = Number(path.split('/')[2])
    const fields = { conversation_id, title: 'Moved', price: 5, date: ahead(3) }
    const { body: [{ id }] } = await asAdmin('POST', 'reservations', fields)
    expect((await voyager.call('GET', `${path}/${id}`)).body)
      .toMatchObject({ status: 'pending', host_id: local.id, offered_by: null, history: [{ by: null }] })
    await asAdmin('PATCH', `reservations?id=eq.${id}`, { price: 6 })
    await asAdmin('PATCH', `reservations?id=eq.${id}`, { price: 6 })
    expect((await voyager.call('POST', `${path}/${id}/accept`, { revision: 1 })).status).toBe(409)
    expect((await voyager.call('POST', `${path}/${id}/accept`, { revision: 2 })).status).toBe(200)
    await asAdmin('PATCH', `reservations?id=eq.${id}`, { status: 'declined' })
    const { history } = (await local.call('GET', `${path}/${id}`)).body
    expect(history.map(({ status, by, price }: Answer['body']) => [status, by, price])).toEqual([
      ['pending', null, 5],
      ['pending', null, 6],
      ['accepted', voyager.id, 6],
      ['declined', null, 6],
    ])
    await expect(asAdmin('PATCH', `reservation_history?reservation_id=eq.${id}`, { note: 'x' })).rejects.toThrow()
    await expect(asAdmin('DELETE', `reservation_history?reservation_id=eq.${id}`)).rejects.toThrow()
    await expect(asAdmin('PATCH', `reservations?id=eq.${id}`, { host_id: ana.id })).rejects.toThrow()
    const mine = await dataApi(voyager.token, 'GET', `reservation_history?reservation_id=eq.${id}`)
    expect(mine.body).toHaveLength(4)
    expect((await dataApi(ana.token, 'GET', `reservation_history?reservation_id=eq.${id}`)).body).toEqual([])
  })
})

describe('GET /users/me/reservations', () => {
  test('pages through all conversations, newest first, with filters', async () => {
    const [host, one, two] = await Promise.all([signUp('Host'), signUp('One'), signUp('Two')])
    const paths = [await openConversation(one, host), await openConversation(host, two)]
      .map((id) => `/conversations/${id}/reservations`)
    const ids: number[] = []
    for (let index = 0; index < 7; index++) {
      ids.push(
        (await host.call('POST', paths[index % 2]!, draft({ date: ahead(index + 1), title: `${index}` }))).body.id,
      )
    }
    await accept(one, `${paths[0]}/${ids[0]}`)
    const list = async (query: string) => await host.call('GET', `/users/me/reservations?${query}`)
    const newest = ids.toReversed()
    const all = await list('')
    expect(idsOf(all.body)).toEqual(newest)
    expect(all.headers.has('Link')).toBe(false)
    const { history: _, ...single } = (await host.call('GET', `${paths[1]}/${ids[5]}`)).body
    expect(all.body[1]).toEqual({ ...single, partner: { id: two.id, name: 'Two' } })
    expect(all.body[0].partner).toEqual({ id: one.id, name: 'One' })

    const seen: number[] = []
    for (let address: string | undefined = '/users/me/reservations?limit=3&status=pending'; address;) {
      const page: Answer = await host.call('GET', address)
      expect(page.body.length).toBeLessThanOrEqual(3)
      seen.push(...idsOf(page.body))
      address = nextPath(address, page)
    }
    expect(seen).toEqual(newest.slice(0, 6))
    expect(idsOf((await list('status=accepted')).body)).toEqual([ids[0]])
    expect(idsOf((await list(`from=${ahead(2.5)}&to=${ahead(5.5)}`)).body)).toEqual([ids[4], ids[3], ids[2]])
    const { date } = all.body[3]
    expect(idsOf((await list(`from=${date}&to=${date}`)).body)).toEqual([])
    expect(idsOf((await list(`from=${date}`)).body)).toEqual(newest.slice(0, 4))
    expect(idsOf((await list(`from=2000-01-01&to=${date}`)).body)).toEqual(newest.slice(4))
    expect(idsOf((await one.call('GET', '/users/me/reservations')).body)).toEqual([ids[6], ids[4], ids[2], ids[0]])
    expect((await cleo.call('GET', '/users/me/reservations')).body).toEqual([])
    expect(idsOf((await list(`before_id=${ids[2]}&limit=1000`)).body)).toEqual([ids[1], ids[0]])
  })

  test.each(['status=Pending', 'from=x', 'to=2030-13-01', 'limit=0', 'before_id=x', 'from=0000-01-01'])(
    '?%s is 400 naming the parameter',
    async (query) => {
      expectError(await ana.call('GET', `/users/me/reservations?${query}`), 400, query.split('=')[0])
    },
  )
})
