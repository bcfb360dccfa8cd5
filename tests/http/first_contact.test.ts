import { describe, expect, test } from 'vitest'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { type Answer, call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { resultOf } from '../tools/responses.ts'
import { testKeys } from '../tools/stack.ts'

const limited = { status: 403, body: { error: 'You can send 3 messages or offers until this person has answered' } }

describe('with FIRST_CONTACT_LIMIT=3 and PARTNER_EMAIL=after_reply', () => {
  const stack = useStack({
    FIRST_CONTACT_LIMIT: '3',
    PARTNER_EMAIL: 'after_reply',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  })
  const pair = async () => {
    const [ana, ben] = await Promise.all([signUp('Ana', {}, stack.base), signUp('Ben', {}, stack.base)])
    return { ana, ben, id: await openConversation(ana, ben) }
  }
  const send = (who: Person, id: number, fields: object = {}): Promise<Answer> =>
    who.call('POST', `/conversations/${id}/messages`, { content: 'Hello', ...fields })
  const addresses = async (who: Person, path = '/conversations') => {
    const { body } = await who.call('GET', path)
    const [{ Voyager, Local }] = body.conversations ?? body
    return [Voyager.email, Local.email]
  }

  test('of 30 first messages at once three are sent, and repeats of these return their answers', async () => {
    const { ana, ben, id } = await pair()
    const keys = Array.from({ length: 30 }, () => crypto.randomUUID())
    const answers = await Promise.all(keys.map((client_id) => send(ana, id, { client_id })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, ...Array<number>(27).fill(403)])
    const repeats = await Promise.all(keys.map((client_id) => send(ana, id, { client_id })))
    expect(repeats.map(resultOf)).toEqual(answers.map(resultOf))
    expect(answers.map(resultOf)).toContainEqual(limited)
    expect((await ben.call('GET', `/conversations/${id}/messages`)).body).toHaveLength(3)
  })

  test('whatever reaches the other counts: messages, offers, changed offers and notes', async () => {
    const { ana, ben, id } = await pair()
    const path = `/conversations/${id}/reservations`
    const draft = { title: 'A walk', price: 0, date: '2036-01-01T10:00:00Z' }
    await sendMessage(ana, id, 'Hello')
    const offered = (await ana.call('POST', path, draft)).body
    expect((await ana.call('PATCH', `${path}/${offered.id}`, { price: 1 })).status).toBe(200)
    expect(resultOf(await send(ana, id))).toEqual(limited)
    expect(resultOf(await ana.call('POST', path, draft))).toEqual(limited)
    expect(resultOf(await ana.call('PATCH', `${path}/${offered.id}`, { price: 2 }))).toEqual(limited)
    // What changes nothing reaches nobody.
    expect((await ana.call('PATCH', `${path}/${offered.id}`, { price: 1 })).status).toBe(200)
    expect((await ben.call('POST', `${path}/${offered.id}/decline`, { note: 'No' })).status).toBe(200)
    expect((await ana.call('POST', path, draft)).status).toBe(201)
    await sendMessage(ana, id, 'Then another day?')
  })

  test('an offer can be withdrawn at the limit as well, and its note reaches nobody', async () => {
    const { ana, ben, id } = await pair()
    const path = `/conversations/${id}/reservations`
    const draft = { title: 'A walk', price: 0, date: '2036-01-01T10:00:00Z' }
    const [first, second] = [(await ana.call('POST', path, draft)).body, (await ana.call('POST', path, draft)).body]
    expect((await ana.call('POST', `${path}/${first.id}/cancel`, { note: 'Within it' })).status).toBe(200)
    expect((await ana.call('POST', `${path}/${second.id}/cancel`, { note: 'Beyond it' })).status).toBe(200)
    const notes = await Promise.all(
      [first, second].map(async (one) => (await ben.call('GET', `${path}/${one.id}`)).body.history.at(-1)),
    )
    expect(notes).toMatchObject([{ status: 'cancelled', note: 'Within it' }, { status: 'cancelled', note: null }])
  })

  test('of 20 offers and messages at once three reach the other, and one can always withdraw an offer', async () => {
    const { ana, ben, id } = await pair()
    const path = `/conversations/${id}/reservations`
    const draft = { title: 'A walk', price: 0, date: '2036-01-01T10:00:00Z' }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => n % 2 ? ana.call('POST', path, draft) : send(ana, id)),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3)
    const offers = (await ben.call('GET', '/users/me/reservations')).body
    for (const offer of offers) {
      expect((await ana.call('POST', `${path}/${offer.id}/cancel`)).body.status).toBe('cancelled')
    }
    expect(resultOf(await send(ana, id))).toEqual(limited)
  })

  test('an answer lifts the limit for ever, in both directions', async () => {
    const { ana, ben, id } = await pair()
    for (let n = 0; n < 3; n++) await sendMessage(ana, id, 'Hello')
    expect(resultOf(await send(ana, id))).toEqual(limited)
    // The field is the function's own: a caller cannot set it.
    expect(resultOf(await send(ana, id, { first_contact_limit: null }))).toEqual(limited)
    await sendMessage(ben, id, 'Hi')
    for (let n = 0; n < 5; n++) {
      await sendMessage(ana, id, 'Hello')
      await sendMessage(ben, id, 'Hi')
    }
    const answers = `${new URL(stack.base).origin}/rest/v1/messages?conversation_id=eq.${id}&user_id=eq.${ben.id}`
    const deleted = await call('DELETE', answers, undefined, { headers: { apikey: testKeys.secretKey } })
    expect(deleted.status).toBe(204)
    await sendMessage(ana, id, 'Hello')
    expect(await addresses(ana)).toEqual([ana.email, ben.email])
  })

  test("no answer has the partner's address before they have written", async () => {
    const { ana, ben, id } = await pair()
    await sendMessage(ana, id, 'Hello')
    await ben.call('PATCH', '/users/searchable', { is_searchable: true })
    const offered = await ana.call('POST', `/conversations/${id}/reservations`, {
      ...{ title: 'A walk', price: 1, date: '2036-06-01T12:00:00Z' },
    })
    await ana.call('PUT', `/users/me/blocks/${ben.id}`)
    const reads = [
      ...['/conversations', `/conversations/${id}`, `/conversations/${id}/messages`, '/conversations/states'],
      ...['/users/me/reservations', `/conversations/${id}/reservations/${offered.body.id}`, '/users/me/blocks'],
      ...['/users/me/export', '/users/me/reports', `/users/${ben.profileId}`, '/users/search?q=Ben&explain=true'],
    ]
    const rows = ['users', 'profiles', 'conversations', 'messages', 'reservations', 'reservation_history']
    const api = new URL(stack.base).origin
    const answers = [
      ...await Promise.all(reads.map((path) => ana.call('GET', path))),
      ...await Promise.all(
        rows.map((table) =>
          ana.call('GET', `${api}/rest/v1/${table}`, undefined, { headers: { apikey: testKeys.publishableKey } })
        ),
      ),
      await ana.call('POST', '/users/me/reports', { user_id: ben.id, reason: 'other' }),
      await ana.call('POST', '/conversations', { other_user_id: ben.id }),
    ]
    for (const { status, text } of answers) {
      expect([200, 201, 409]).toContain(status)
      expect(text).not.toContain(ben.email)
    }
  })

  test("the partner's address is empty until they have written, in the list and the export", async () => {
    const { ana, ben, id } = await pair()
    await sendMessage(ana, id, 'Hello')
    for (const path of ['/conversations', '/users/me/export']) {
      expect(await addresses(ana, path)).toEqual([ana.email, ''])
      expect(await addresses(ben, path)).toEqual([ana.email, ben.email])
    }
    await sendMessage(ben, id, 'Hi')
    for (const path of ['/conversations', '/users/me/export']) {
      expect(await addresses(ana, path)).toEqual([ana.email, ben.email])
    }
  })
})

test('by default there is no limit on one machine, and addresses are shown', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const id = await openConversation(ana, ben)
  for (let n = 0; n < 6; n++) await sendMessage(ana, id, 'Hello')
  expect((await ana.call('GET', '/conversations')).body[0].Local.email).toBe(ben.email)
})
