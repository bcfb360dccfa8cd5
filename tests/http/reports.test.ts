import { createClient } from '@supabase/supabase-js'
import { beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import {
  type Answer,
  asAdmin,
  call,
  dataApi,
  openConversation,
  type Person,
  sendMessage,
  signUp,
} from '../tools/people.ts'
import { errorOf, expectError, idsOf, isoTimestamp, nextPath, resultOf } from '../tools/responses.ts'

const report = (who: Person, fields: object, headers = {}): Promise<Answer> =>
  who.call('POST', '/users/me/reports', { reason: 'spam', ...fields }, { headers })
const reportsOf = async (who: Person) => (await who.call('GET', '/users/me/reports')).body
/** Calls a function of the moderators, as their dashboard does. */
const moderate = (name: string, values: object) => asAdmin('POST', `rpc/${name}`, values)
const resolve = (id: number, action: string) => moderate('resolve_report', { report: id, action, note: `To ${action}` })
const queueEntry = async (id: number) => (await asAdmin('GET', `moderation_queue?report=eq.${id}`)).body[0]
const evidenceOf = async (id: number) =>
  (await moderate('read_evidence', { report: id })).body.map(({ content }: Answer['body']) => content)

let ana: Person, ben: Person, cleo: Person
let conversation: number
let received: Answer['body']
beforeAll(async () => {
  cleo = await signUp('Cleo')
})
beforeEach(async () => {
  ;[ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben', { is_searchable: true })])
  conversation = await openConversation(ana, ben)
  received = await sendMessage(ben, conversation, 'Send me money')
})

test('a report is answered as documented, listed, and in the queue of the moderators', async () => {
  const note = ' Zwei Mal, „böse“ 😠\n'
  const { status, body } = await report(ana, { user_id: ben.id, reason: 'scam', note })
  const reported = { id: expect.any(Number), status: 'open', reason: 'scam', createdAt: isoTimestamp }
  expect({ status, body }).toEqual({ status: 201, body: reported })
  expect(await reportsOf(ana)).toEqual([{ ...body, resolvedAt: null }])
  expect(await queueEntry(body.id)).toMatchObject({
    reason: 'scam',
    note,
    person_id: ben.id,
    person: 'Ben',
    reporter_id: ana.id,
    earlier_reports: 0,
  })
  expect(await evidenceOf(body.id)).toEqual([])
})

const wrong: [field: string, fields: () => object][] = [
  ['user_id', () => ({})],
  ['user_id', () => ({ user_id: ben.id, message_id: received.id })],
  ['user_id', () => ({ user_id: null, message_id: null })],
  ['user_id', () => ({ user_id: `${ben.id}` })],
  ['user_id', () => ({ user_id: 0 })],
  ['user_id', () => ({ user_id: ana.id })],
  ['message_id', () => ({ message_id: 1.5 })],
  ['reason', () => ({ user_id: ben.id, reason: 'dislike' })],
  ['reason', () => ({ user_id: ben.id, reason: undefined })],
  ['note', () => ({ user_id: ben.id, note: '😀'.repeat(2001) })],
  ['note', () => ({ user_id: ben.id, note: 'a\0b' })],
  ['note', () => ({ user_id: ben.id, note: '\ud800' })],
  ['share_messages', () => ({ user_id: ben.id, share_messages: 'yes' })],
  ['block', () => ({ user_id: ben.id, block: 1 })],
  ['client_id', () => ({ user_id: ben.id, client_id: 'x' })],
]
test('a wrong value is 400 naming the field, and nothing is reported', async () => {
  for (const [field, fields] of wrong) expectError(await report(ana, fields()), 400, field)
  expectError(await ana.call('GET', '/users/me/reports?limit=0'), 400, 'limit')
  expect(await reportsOf(ana)).toEqual([])
})

test('notes of 2,000 characters are stored as they are', async () => {
  for (const note of ['😀'.repeat(2000), '\u202e\u0301 \t\u200b', "'; drop table reports; --", '']) {
    const [who, whom] = await Promise.all([signUp('Who'), signUp('Whom')])
    const { body } = await report(who, { user_id: whom.id, note })
    expect((await queueEntry(body.id)).note).toBe(note)
    expect((await who.call('GET', '/users/me/export')).body.reports).toMatchObject([{ id: body.id, note }])
  }
})

test('unknown people, and messages that are not the reporter’s to read, are 404', async () => {
  const notFound = (error: string) => ({ status: 404, body: { error } })
  expect(resultOf(await report(ana, { user_id: 2 ** 40 }))).toEqual(notFound('User not found'))
  expect(resultOf(await report(cleo, { message_id: received.id }))).toEqual(notFound('Message not found'))
  expect(resultOf(await report(ana, { message_id: 2 ** 40 }))).toEqual(notFound('Message not found'))
  expectError(await report(ben, { message_id: received.id }), 400, 'message_id')
  await asAdmin('PATCH', `users?id=eq.${ben.id}`, { is_active: false })
  expect(resultOf(await report(cleo, { user_id: ben.id }))).toEqual(notFound('User not found'))
  expect((await report(ana, { message_id: received.id })).status).toBe(201)
})

test('the same subject again is 200 with the first report until it is resolved', async () => {
  for (const subject of [{ user_id: ben.id }, { message_id: received.id }]) {
    const first = await report(ana, subject)
    expect(resultOf(await report(ana, { ...subject, reason: 'danger', note: 'Again' })))
      .toEqual({ status: 200, body: first.body })
    await resolve(first.body.id, 'dismiss')
    const next = await report(ana, subject)
    expect({ status: next.status, isNew: next.body.id !== first.body.id }).toEqual({ status: 201, isNew: true })
    expect((await queueEntry(next.body.id)).earlier_reports).toBeGreaterThan(0)
  }
  expect((await reportsOf(ana)).map(({ status, resolvedAt }: Answer['body']) => [status, resolvedAt])).toEqual([
    ['open', null],
    ['resolved', isoTimestamp],
    ['open', null],
    ['resolved', isoTimestamp],
  ])
})

test('of 50 reports of one subject at once one is made, and all get its id', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, () => report(ana, { user_id: ben.id, block: true })))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array<number>(49).fill(200), 201])
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(await reportsOf(ana)).toHaveLength(1)
})

test('people who report and block each other at once all succeed', async () => {
  const answers = await Promise.all(
    Array.from(
      { length: 20 },
      (_, n) =>
        n % 2
          ? report(ana, { user_id: ben.id, block: true })
          : report(ben, { user_id: ana.id, block: true, share_messages: true }),
    ),
  )
  for (const { status } of answers) expect([200, 201]).toContain(status)
})

test('an Idempotency-Key or client_id makes one report, and returns the first answer for ever', async () => {
  const key = crypto.randomUUID()
  const send = (fields: object = {}, headers: Record<string, string> = { 'Idempotency-Key': key }) =>
    report(ana, { user_id: ben.id, ...fields }, headers)
  const answers = await Promise.all(Array.from({ length: 6 }, () => send()))
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(201))
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
  expect(answers.filter(({ headers }) => !headers.has('Idempotency-Replayed'))).toHaveLength(1)
  expect((await send({ client_id: key.toUpperCase() }, {})).text).toBe(answers[0]!.text)
  for (const other of [{ note: 'More' }, { block: true }, { user_id: cleo.id }]) expectError(await send(other), 422)
  expectError(await send({ client_id: crypto.randomUUID() }), 400, 'client_id')
  // A key whose answer was an open report returns it with its status, also once it is resolved.
  const second = { 'Idempotency-Key': crypto.randomUUID() }
  const found = await send({}, second)
  expect(found.status).toBe(200)
  await resolve(found.body.id, 'warn')
  expect(resultOf(await send({}, second))).toEqual(resultOf(found))
  expect(resultOf(await send())).toEqual(resultOf(answers[0]!))
  expect(await reportsOf(ana)).toHaveLength(1)
})

test('messages are shared only with consent', async () => {
  const other = await openConversation(cleo, ben)
  await sendMessage(ben, other, 'Not for Ana’s report')
  const texts = Array.from({ length: 25 }, (_, n) => `Message ${n}`)
  for (const [n, text] of texts.entries()) await sendMessage(n % 2 ? ana : ben, conversation, text)
  const { body: alone } = await report(ana, { message_id: received.id })
  expect(await evidenceOf(alone.id)).toEqual(['Send me money'])
  const { body: shared } = await report(ana, { user_id: ben.id, share_messages: true })
  expect(await evidenceOf(shared.id)).toEqual(texts.slice(-20))
})

describe('what the reported person can see', () => {
  /** Everything that a person can read of their own, without what changes by itself. */
  const viewOf = async (who: Person) => {
    const paths = ['/users/me', '/users/me/export', '/users/me/reports', '/users/me/blocks', '/conversations']
    const answers = await Promise.all(paths.map((path) => who.call('GET', path)))
    const { exported_at: _, ...exported } = answers[1]!.body
    const tables = ['users', 'profiles', 'conversations', 'messages', 'reservations', 'reservation_history']
    const rows = await Promise.all(tables.map((table) => dataApi(who.token, 'GET', table)))
    return {
      answers: answers.map(({ status, body }, at) => [status, at === 1 ? exported : body]),
      rows: rows.map(resultOf),
    }
  }

  test('is the same before and after a report, its resolution and a look at the evidence', async () => {
    const before = await viewOf(ben)
    const { body: { id } } = await report(ana, { message_id: received.id, note: 'Awful', share_messages: true })
    expect(await viewOf(ben)).toEqual(before)
    await evidenceOf(id)
    await resolve(id, 'warn')
    expect(await viewOf(ben)).toEqual(before)
    expect((await ben.call('POST', '/users/me/reports', { user_id: ana.id, reason: 'other' })).status).toBe(201)
    expect((await ben.call('DELETE', '/users/me')).status).toBe(204)
  })

  test.each(['reports', 'moderation_queue', 'moderation_log', 'hidden_profiles', 'report_evidence'])(
    'has no table %s, not even for the reporter',
    async (table) => {
      await report(ana, { user_id: ben.id })
      for (const token of [ana.token, ben.token, undefined]) {
        for (const [method, body] of [['GET'], ['POST', {}], ['PATCH', { note: 'x' }], ['DELETE']] as const) {
          const { status, text } = await dataApi(token, method, `${table}${method === 'POST' ? '' : '?id=gt.0'}`, body)
          expect({ table, method, isRefused: status >= 400 }).toEqual({ table, method, isRefused: true })
          expect(text).not.toContain('Awful')
        }
      }
    },
  )

  test.each([
    ['resolve_report', { report: 1, action: 'dismiss', note: 'Mine' }],
    ['read_evidence', { report: 1 }],
    ['lift_restriction', { person: 1, restriction: 'hide', note: 'Mine' }],
  ])('includes no function %s', async (name, values) => {
    for (const token of [ana.token, undefined]) {
      const { status } = await dataApi(token, 'POST', `rpc/${name}`, values)
      expect(status).toBeGreaterThanOrEqual(400)
    }
  })

  test('is nothing in supabase-js: rows, counts, functions and changes', async () => {
    const { origin, publishableKey } = inject('stack')
    const client = createClient(origin, publishableKey, {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: WebSocket as never },
    })
    await client.auth.signInWithPassword({ email: ben.email, password: ben.password })
    const heard: unknown[] = []
    const channel = client.channel(`changes-${ben.id}`)
    for (const table of ['reports', 'moderation_log', 'hidden_profiles']) {
      channel.on('postgres_changes', { event: '*', schema: 'public', table }, (change) => heard.push(change))
    }
    const topic = client.channel(`user:${ben.id}`, { config: { private: true } })
    await new Promise((resolve) => channel.subscribe(resolve))
    await new Promise((resolve) =>
      topic.on('broadcast', { event: '*' }, (event) => heard.push(event)).subscribe(resolve)
    )
    const { body: { id } } = await report(ana, { message_id: received.id, share_messages: true, note: 'Awful' })
    for (const count of ['exact', 'planned'] as const) {
      const counted = await client.from('reports').select('id', { count, head: true })
      expect(counted).toMatchObject({ count: null, data: null })
    }
    for (const table of ['reports', 'moderation_queue', 'moderation_log', 'hidden_profiles']) {
      const { data, error } = await client.from(table).select()
      expect({ table, data, isRefused: error !== null }).toEqual({ table, data: null, isRefused: true })
      expect((await client.from(table).insert({ user_id: ben.id })).error).not.toBe(null)
      expect((await client.from(table).delete().eq('user_id', ben.id)).error).not.toBe(null)
    }
    expect((await client.rpc('read_evidence', { report: id })).error).not.toBe(null)
    expect((await client.rpc('resolve_report', { report: id, action: 'dismiss', note: 'Me' })).error).not.toBe(null)
    await resolve(id, 'warn')
    // The next event of the topic is of a message, so none came before it.
    await sendMessage(ana, conversation, 'Later')
    await vi.waitUntil(() => heard.length > 0, { timeout: 10_000 })
    expect(heard).toMatchObject([{ event: 'message.created' }])
    await client.removeAllChannels()
  })

  test('is no embedding of a table that everybody can read', async () => {
    for (
      const path of [
        'users?select=*,reports(*)',
        'users?select=id,hidden_profiles(*)',
        'messages?select=*,moderation_log(*)',
      ]
    ) {
      const { status, text } = await dataApi(ben.token, 'GET', path)
      expect({ path, isRefused: status >= 400 || !/"(reports|hidden_profiles|moderation_log)":/.test(text) })
        .toEqual({ path, isRefused: true })
    }
  })
})

test('a blocked person can report whoever blocked them, and does not learn of the block', async () => {
  await ben.call('PUT', `/users/me/blocks/${ana.id}`)
  expect((await report(ana, { user_id: ben.id, share_messages: true })).status).toBe(201)
  const { status, body } = await report(ana, { message_id: received.id, block: true })
  expect(status).toBe(201)
  expect(await evidenceOf(body.id)).toEqual(['Send me money'])
  expect((await ana.call('GET', '/users/me/blocks')).body).toMatchObject([{ user_id: ben.id }])
})

test('block: true blocks in the same request', async () => {
  expect((await report(ana, { message_id: received.id, block: true })).status).toBe(201)
  expectError(await ben.call('POST', `/conversations/${conversation}/messages`, { content: 'Hm?' }), 403)
})

test('reports are paged, newest first', async () => {
  const made: number[] = []
  for (let n = 0; n < 5; n++) made.unshift((await report(ana, { user_id: (await signUp('Whom')).id })).body.id)
  const pages: number[][] = []
  let next: string | undefined = '/users/me/reports?limit=2'
  while (next) {
    const answer: Answer = await ana.call('GET', next)
    pages.push(idsOf(answer.body))
    next = nextPath(next, answer)
  }
  expect(pages).toEqual([made.slice(0, 2), made.slice(2, 4), made.slice(4)])
})

describe('decisions', () => {
  test('hiding lasts until it is lifted, by every way of showing a profile', async () => {
    const { body: { id } } = await report(ana, { user_id: ben.id })
    await resolve(id, 'hide')
    const hidden = { status: 403, body: { error: 'An administrator has hidden this profile' } }
    expect(resultOf(await ben.call('PATCH', '/users/searchable', { is_searchable: true }))).toEqual(hidden)
    expect(resultOf(await ben.call('PATCH', '/users/profile', { is_searchable: true, name: 'Benny' }))).toEqual(hidden)
    expect((await dataApi(ben.token, 'PATCH', `profiles?user_id=eq.${ben.id}`, { is_searchable: true })).status).toBe(
      403,
    )
    expect((await ben.call('GET', '/users/me')).body).toMatchObject({ name: 'Ben', Profile: { is_searchable: false } })
    expect((await ben.call('PATCH', '/users/searchable', { is_searchable: false })).status).toBe(200)
    expect((await ben.call('PATCH', '/users/profile', { city: 'Faro' })).status).toBe(200)
    expectError(await call('GET', `/users/${ben.profileId}`), 403)
    await moderate('lift_restriction', { person: ben.id, restriction: 'hide', note: 'A mistake' })
    expect(resultOf(await ben.call('PATCH', '/users/searchable', { is_searchable: true })))
      .toEqual({ status: 200, body: { is_searchable: true } })
  })

  test('of 20 attempts to show a profile while it is being hidden none lasts', async () => {
    const { body: { id } } = await report(ana, { user_id: ben.id })
    const show = () => ben.call('PATCH', '/users/searchable', { is_searchable: true })
    const attempts = Array.from({ length: 20 }, show)
    await resolve(id, 'hide')
    for (const { status } of await Promise.all(attempts)) expect([200, 403]).toContain(status)
    expect((await ben.call('GET', '/users/me')).body.Profile.is_searchable).toBe(false)
  })

  test('suspending deactivates the account until it is lifted', async () => {
    const { body: { id } } = await report(ana, { user_id: ben.id })
    await resolve(id, 'suspend')
    expect(resultOf(await ben.call('GET', '/users/me'))).toEqual(errorOf(403, 'deactivated'))
    await moderate('lift_restriction', { person: ben.id, restriction: 'suspend', note: 'Served' })
    expect((await ben.call('GET', '/users/me')).status).toBe(200)
  })

  test('of decisions at once one is taken; the others, and later ones, are told so', async () => {
    const { body: { id } } = await report(ana, { user_id: ben.id })
    const results = await Promise.allSettled(
      ['dismiss', 'warn', 'dismiss', 'warn', 'dismiss', 'warn'].map((action) => resolve(id, action)),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    await expect(resolve(id, 'suspend')).rejects.toThrow(/409 .*This report was resolved before: (dismiss|warn), at 20/)
    expect((await ben.call('GET', '/users/me')).status).toBe(200)
    expect((await asAdmin('GET', `moderation_log?report_id=eq.${id}`)).body).toHaveLength(1)
  })
})
