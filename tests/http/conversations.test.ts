import { beforeAll, describe, expect, test } from 'vitest'
import {
  type Answer,
  asAdmin,
  openConversation,
  type Person,
  sendMessage,
  signUp,
  uniqueEmail,
} from '../tools/people.ts'
import { expectError, idsOf, isoTimestamp, nextPath, resultOf } from '../tools/responses.ts'

const unknown = 999_999_999
const statuses = ['pending', 'accepted', 'declined', 'cancelled', 'completed']

const open = (opener: Person, other_user_id: unknown) => opener.call('POST', '/conversations', { other_user_id })
const list = async (reader: Person, query = '') => {
  const { status, body } = await reader.call('GET', `/conversations${query}`)
  expect(status).toBe(200)
  return body
}
const card = ({ id, name }: Person) => ({ id, name })
const contact = ({ id, name, email }: Person) => ({ id, name, email })

let ana: Person, bob: Person, cleo: Person, outsider: Person
let conversation: number
beforeAll(async () => {
  ana = await signUp('Ana')
  bob = await signUp('Bob <b>&amp;</b> Söhne')
  cleo = await signUp('Cleo')
  outsider = await signUp('Otto')
  conversation = await openConversation(ana, bob)
})

describe('opening a conversation', () => {
  test('the caller becomes the voyager, the other user the local', async () => {
    const dan = await signUp('Dan')
    const opened = await open(dan, ana.id)
    expect(resultOf(opened)).toEqual({
      status: 201,
      body: { id: expect.any(Number), voyager_id: dan.id, local_id: ana.id },
    })
    expect(Number.isInteger(opened.body.id)).toBe(true)
    for (const reader of [dan, ana]) expect(idsOf(await list(reader))).toContain(opened.body.id)
  })

  test('a second conversation of the same pair is refused with the id of the first, from both sides', async () => {
    const existing = { status: 409, body: { error: expect.stringMatching(/\w/), conversation_id: conversation } }
    expect(resultOf(await open(ana, bob.id))).toEqual(existing)
    expect(resultOf(await open(bob, ana.id))).toEqual(existing)
    expect((await list(bob)).filter(({ voyager_id }: { voyager_id: number }) => voyager_id === ana.id)).toHaveLength(1)
  })

  test('users cannot open a conversation with themselves', async () => {
    expectError(await open(ana, ana.id), 400)
    expect((await asAdmin('GET', `conversations?voyager_id=eq.${ana.id}&local_id=eq.${ana.id}`)).body).toEqual([])
  })

  test.each([unknown, Number.MAX_SAFE_INTEGER])('the unknown user %d is 404', async (id) => {
    expectError(await open(ana, id), 404)
  })

  test('a deactivated user is 404 until reactivated', async () => {
    const gone = await signUp('Gone')
    await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
    expectError(await open(ana, gone.id), 404)
    await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: true })
    expect((await open(ana, gone.id)).status).toBe(201)
  })

  test('the body {"other_user_id": 1e400} is refused, naming the field', async () => {
    const raw = '{"other_user_id": 1e400}'
    expectError(await ana.call('POST', '/conversations', undefined, { raw }), 400, 'other_user_id')
  })
})

describe('the list of conversations', () => {
  test('is empty for a new user', async () => {
    expect(await list(await signUp('New'))).toEqual([])
  })

  test('shows both participants the same entry, without messages at first', async () => {
    const [dan, eva] = [await signUp('Dan'), await signUp('Eva')]
    const id = await openConversation(dan, eva)
    const entry = {
      id,
      voyager_id: dan.id,
      local_id: eva.id,
      Voyager: contact(dan),
      Local: contact(eva),
      Messages: [],
      createdAt: isoTimestamp,
    }
    for (const reader of [dan, eva]) expect(await list(reader)).toEqual([entry])
    const [{ createdAt }] = await list(dan)
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000)
  })

  test('names the partner on request, with what the public profile shows', async () => {
    const [dan, eva] = [await signUp('Dan'), await signUp('Eva')]
    const id = await openConversation(dan, eva)
    const partners = async () => (await list(dan, '?partner=true')).map(({ partner }: Answer['body']) => partner)
    expect(await partners()).toEqual([{ ...card(eva), profile: null }])
    const image_url = 'https://photos.example.com/eva.jpg'
    const { body } = await eva.call('PATCH', '/users/profile', { image_url, is_searchable: true })
    expect(await partners()).toEqual([{ ...card(eva), profile: { id: body.Profile.id, image_url } }])
    const [{ partner: _, ...entry }] = await list(dan, '?partner=true')
    expect(await list(dan)).toEqual([entry])
    expect(entry.id).toBe(id)
    expectError(await dan.call('GET', '/conversations?partner=me'), 400, 'partner')
  })

  test('embeds only the latest message, with the documented fields', async () => {
    const first = await sendMessage(ana, conversation, 'First')
    await sendMessage(bob, conversation, 'Second')
    const last = await sendMessage(ana, conversation, 'Third')
    expect(last.id).toBeGreaterThan(first.id)
    const entry = (await list(bob)).find(({ id }: { id: number }) => id === conversation)
    expect(entry.Messages).toEqual([
      { id: last.id, content: 'Third', user_id: ana.id, read: false, createdAt: last.createdAt },
    ])
  })

  test('is sorted by latest activity, which is a message or the opening', async () => {
    const host = await signUp('Host')
    const guests = [await signUp('G1'), await signUp('G2'), await signUp('G3')] as const
    const a = await openConversation(guests[0], host)
    const b = await openConversation(host, guests[1])
    expect(idsOf(await list(host))).toEqual([b, a])
    await sendMessage(guests[0], a, 'Are you there?')
    expect(idsOf(await list(host))).toEqual([a, b])
    const c = await openConversation(guests[2], host)
    expect(idsOf(await list(host))).toEqual([c, a, b])
    await sendMessage(host, b, 'Hello')
    await sendMessage(host, a, 'Yes')
    expect(idsOf(await list(host))).toEqual([a, b, c])
  })

  test('is complete unless pages are requested; equal times are sorted by id, highest first', async () => {
    const host = await signUp('Host')
    const strangers = Array.from({ length: 103 }, (_, index) => ({ name: `Stranger ${index}`, email: uniqueEmail() }))
    const { body: users } = await asAdmin('POST', 'users', strangers)
    const created_at = '2024-02-29T23:59:59.999Z'
    const rows = users.map(({ id }: { id: number }) => ({ voyager_id: id, local_id: host.id, created_at }))
    const ids = idsOf((await asAdmin('POST', 'conversations', rows)).body).sort((a, b) => b - a)
    expect(ids).toHaveLength(103)
    const all = await list(host)
    expect(idsOf(all)).toEqual(ids)
    expect(all[0].createdAt).toBe(created_at)
    expect(idsOf(await list(host, '?limit=2'))).toEqual(ids.slice(0, 2))
    expect(idsOf(await list(host, '?limit=2&offset=2'))).toEqual(ids.slice(2, 4))
    expect(idsOf(await list(host, '?offset=101'))).toEqual(ids.slice(101))
    expect(idsOf(await list(host, '?limit=100'))).toEqual(ids.slice(0, 100))
    expect(idsOf(await list(host, '?limit=1000'))).toEqual(ids.slice(0, 100))
    expect(await list(host, '?limit=10&offset=103')).toEqual([])

    // The Link headers lead through the same list.
    const seen: number[] = []
    let path: string | undefined = '/conversations?limit=50&pinned=first&archived=all'
    while (path) {
      const answer: Answer = await host.call('GET', path)
      seen.push(...idsOf(answer.body))
      path = nextPath(path, answer)
    }
    expect(seen).toEqual(ids)
    expect((await host.call('GET', '/conversations')).headers.has('Link')).toBe(false)
  })

  test('keeps conversations with a deactivated user', async () => {
    const gone = await signUp('Gone')
    const id = await openConversation(gone, cleo)
    await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
    expect(await list(cleo)).toMatchObject([{ id, Voyager: { id: gone.id }, Local: contact(cleo) }])
    expect((await cleo.call('GET', `/conversations/${id}`)).status).toBe(200)
  })
})

describe('the details of a conversation', () => {
  test('show both participants without e-mail', async () => {
    const id = await openConversation(ana, cleo)
    const detail = { status: 200, body: { id, Voyager: card(ana), Local: card(cleo), Reservations: [] } }
    for (const reader of [ana, cleo]) expect(resultOf(await reader.call('GET', `/conversations/${id}`))).toEqual(detail)
  })

  test('show reservations of every status, and none of other conversations', async () => {
    const elsewhere = await openConversation(outsider, bob)
    const details = (id: number) => ({ conversation_id: id, title: 'Tapas & <i>walk</i> 🚶', price: 1234567.89 })
    await asAdmin('POST', 'reservations', { ...details(elsewhere), date: '2031-01-01T00:00:00Z' })
    const rows = statuses.map((status, index) => ({
      ...details(conversation),
      status,
      date: `2030-06-0${index + 1}T00:30:00.5+02:00`,
    }))
    const written = (await asAdmin('POST', 'reservations', rows)).body
    const { body } = await bob.call('GET', `/conversations/${conversation}`)
    expect(body.Reservations).toHaveLength(5)
    for (const { id, status, title, price } of written) {
      const day = statuses.indexOf(status)
      const date = day === 0 ? '2030-05-31T22:30:00.500Z' : `2030-06-0${day}T22:30:00.500Z`
      expect(body.Reservations).toContainEqual({ id, title, price, date, status })
      expect([price, title]).toEqual([1234567.89, 'Tapas & <i>walk</i> 🚶'])
    }
    expect(Object.keys(body).sort()).toEqual(['Local', 'Reservations', 'Voyager', 'id'])
  })
})
