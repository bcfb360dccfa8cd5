import { beforeAll, describe, expect, inject, test } from 'vitest'
import {
  type Answer,
  asAdmin,
  openConversation,
  type Person,
  seededInterests,
  sendMessage,
  signUp,
} from '../tools/people.ts'
import { isoTimestamp } from '../tools/responses.ts'

const take = (who: Person): Promise<Answer> => who.call('GET', '/users/me/export')

let ana: Person, ben: Person
beforeAll(async () => {
  ;[ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
})

test('a new user gets their account and profile', async () => {
  const { body } = await take(ben)
  const { body: me } = await ben.call('GET', '/users/me')
  const { Profile: { Interests: _, ...profile }, ...user } = me
  expect(body).toEqual({
    exported_at: isoTimestamp,
    user: { ...user, createdAt: isoTimestamp },
    profile,
    interests: [],
    blocks: [],
    devices: [],
    notifications: { push: true, email: true, delay_minutes: 10, quiet_hours: null, previews: false },
    conversations: [],
    reports: [],
  })
  expect(Math.abs(Date.now() - Date.parse(body.exported_at))).toBeLessThan(60_000)
})

test('is a download that no cache stores', async () => {
  const { status, headers } = await take(ben)
  expect(status).toBe(200)
  expect(headers.get('Content-Type')).toBe('application/json')
  expect(headers.get('Content-Disposition')).toMatch(/^attachment; filename="[\w.-]+\.json"$/)
  expect(headers.get('Cache-Control')).toContain('no-store')
  const head = await ben.call('HEAD', '/users/me/export')
  expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' })
})

test('contains all own data, received messages and reservations, and no data of other conversations', async () => {
  const interests = (await seededInterests()).slice(0, 2)
  const person = {
    first_name: 'Zoë',
    last_name: 'N',
    age: 34,
    biography: 'Walks "far"\\ 🚶',
    country: 'PT',
    city: 'Faro',
  }
  const shown = { ...person, image_url: 'https://example.com/z.png', is_searchable: true }
  const zoe = await signUp('Zoë', { bio: 'Sea', location: 'By it', ...shown })
  await zoe.call('PUT', '/users/profile/interests', { interest_ids: interests.map(({ id }) => id) })
  const [first, second] = [await openConversation(zoe, ana), await openConversation(ben, zoe)]
  const others = await openConversation(ana, ben)
  await sendMessage(ana, others, 'Secret between Ana and Ben')
  const attachment = { url: 'https://files.example/b.png', name: 'b.png', mime_type: 'image/png', size: 5 }
  const sent = [
    await sendMessage(zoe, first, 'Hello, "Ana"\n]}'),
    await sendMessage(ana, first, 'Hello back'),
    (await zoe.call('POST', `/conversations/${first}/messages`, { content: '', attachment })).body,
  ]
  const reservation = { title: 'Walk', price: 12.5, date: '2037-01-01T10:00:00.000Z', status: 'accepted' }
  const { body: [made] } = await asAdmin('POST', 'reservations', { ...reservation, conversation_id: second })
  const note = 'Says "hello"\\ too often 😠'
  const { body: { id } } = await zoe.call('POST', '/users/me/reports', {
    message_id: sent[1].id,
    reason: 'spam',
    note,
    share_messages: true,
  })
  await ana.call('POST', '/users/me/reports', { user_id: zoe.id, reason: 'danger', note: 'Secret about Zoë' })
  await zoe.call('PUT', `/users/me/blocks/${ben.id}`)

  const { body } = await take(zoe)
  const contact = ({ id, name, email }: Person) => ({ id, name, email })
  const pair = (id: number, voyager: Person, local: Person) => ({
    id,
    voyager_id: voyager.id,
    local_id: local.id,
    Voyager: contact(voyager),
    Local: contact(local),
    state: { archived: false, muted_until: null, pinned: false },
    createdAt: isoTimestamp,
  })
  expect(body).toEqual({
    exported_at: isoTimestamp,
    user: {
      ...contact(zoe),
      bio: 'Sea',
      location: 'By it',
      role: 'user',
      is_active: true,
      createdAt: isoTimestamp,
    },
    profile: { id: zoe.profileId, user_id: zoe.id, ...shown },
    interests: interests.toSorted((one, other) => one.name < other.name ? -1 : 1),
    blocks: [{ user_id: ben.id, name: 'Ben', createdAt: isoTimestamp }],
    devices: [],
    notifications: expect.objectContaining({ push: true }),
    conversations: [
      { ...pair(first, zoe, ana), Reservations: [], messages: sent },
      {
        // She has blocked him.
        ...pair(second, { ...ben, email: '' }, zoe),
        Reservations: [{
          ...reservation,
          id: made.id,
          revision: 1,
          conversation_id: second,
          ends_at: null,
          host_id: zoe.id,
          offered_by: null,
          createdAt: isoTimestamp,
          updatedAt: isoTimestamp,
          history: [{ ...reservation, by: null, note: null, ends_at: null, createdAt: isoTimestamp }],
        }],
        messages: [],
      },
    ],
    reports: [{
      ...{ id, user_id: ana.id, message_id: sent[1].id, reason: 'spam', note, share_messages: true, status: 'open' },
      ...{ createdAt: isoTimestamp, resolvedAt: null },
    }],
  })
})

describe('a long history', () => {
  const fill = async (conversation: number, senders: Person[], length: number) => {
    const rows = Array.from({ length }, (_, index) => ({
      conversation_id: conversation,
      user_id: senders[index % senders.length]!.id,
      content: `${index} ${'å'.repeat(200)}`,
    }))
    for (let at = 0; at < length; at += 1000) await asAdmin('POST', 'messages', rows.slice(at, at + 1000))
  }

  test('is complete and in order, whatever the chunk boundaries', async () => {
    const writer = await signUp('Writer')
    const lengths = [0, 98, 0, 100, 101, 99, 0, 1, 500, 0]
    const conversations = []
    for (const length of lengths) {
      const partner = await signUp('Partner')
      const id = await openConversation(writer, partner)
      await fill(id, [writer, partner], length)
      conversations.push(id)
    }
    const { status, body } = await take(writer)
    expect(status).toBe(200)
    expect(body.conversations.map(({ id }: { id: number }) => id)).toEqual(conversations)
    for (const [index, { messages }] of body.conversations.entries()) {
      const numbers = messages.map(({ content }: { content: string }) => parseInt(content))
      expect(numbers).toEqual(Array.from({ length: lengths[index]! }, (_, number) => number))
      const names = messages.map(({ Sender }: { Sender: { name: string } }) => Sender.name)
      expect(names).toEqual(numbers.map((number: number) => number % 2 ? 'Partner' : 'Writer'))
    }
  })

  test('of hundreds of empty conversations is complete', async () => {
    const host = await signUp('Host')
    const emails = Array.from({ length: 600 }, (_, index) => ({ name: 'Guest', email: `g${index}.${host.email}` }))
    const { body: guests } = await asAdmin('POST', 'users', emails)
    const pairs = guests.map(({ id }: { id: number }) => ({ voyager_id: id, local_id: host.id }))
    await asAdmin('POST', 'conversations', pairs)
    const { body } = await take(host)
    expect(new Set(body.conversations.map(({ voyager_id }: { voyager_id: number }) => voyager_id)).size).toBe(600)
    for (const { messages } of body.conversations) expect(messages).toEqual([])
  })

  test('read by a client that stops reading does not block other requests', async () => {
    const slow = await signUp('Slow')
    const conversation = await openConversation(slow, await signUp('Partner'))
    await fill(conversation, [slow], 4000)
    const headers = { Authorization: `Bearer ${slow.token}` }
    const left = await Promise.all(Array.from({ length: 10 }, async () => {
      const response = await fetch(`${inject('stack').base}/users/me/export`, { headers })
      const reader = response.body!.getReader()
      await reader.read()
      return reader
    }))
    expect((await ana.call('GET', '/users/me')).status).toBe(200)
    await Promise.all(left.map((reader) => reader.cancel()))
    expect((await take(slow)).body.conversations[0].messages).toHaveLength(4000)
  })
})
