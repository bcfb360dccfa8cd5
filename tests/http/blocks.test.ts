import { beforeEach, describe, expect, test } from 'vitest'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { expectError, isoTimestamp, resultOf } from '../tools/responses.ts'
import { namesOf, searchIn, uniqueCity, until } from '../tools/search.ts'

const block = (user: Person, other: number | string) => user.call('PUT', `/users/me/blocks/${other}`)
const unblock = (user: Person, other: number | string) => user.call('DELETE', `/users/me/blocks/${other}`)
const blocks = async (user: Person) => (await user.call('GET', '/users/me/blocks')).body
const open = (user: Person, other: Person) => user.call('POST', '/conversations', { other_user_id: other.id })
const write = (user: Person, conversation: number, fields = {}) =>
  user.call('POST', `/conversations/${conversation}/messages`, { content: 'Hello', ...fields })

let ana: Person, ben: Person, cleo: Person
beforeEach(async () => {
  ;[ana, ben, cleo] = await Promise.all([signUp('Ana'), signUp('Ben'), signUp('Cleo')])
})

test('blocks are listed latest first and can be removed; repeats change nothing', async () => {
  expect(await blocks(ana)).toEqual([])
  for (const other of [ben, ben, cleo, ben]) {
    const { status, text } = await block(ana, other.id)
    expect({ status, text }).toEqual({ status: 204, text: '' })
  }
  expect(await blocks(ana)).toEqual([
    { user_id: cleo.id, name: 'Cleo', createdAt: isoTimestamp },
    { user_id: ben.id, name: 'Ben', createdAt: isoTimestamp },
  ])
  for (let time = 0; time < 2; time++) {
    const { status, text } = await unblock(ana, ben.id)
    expect({ status, text }).toEqual({ status: 204, text: '' })
  }
  expect(await blocks(ana)).toMatchObject([{ user_id: cleo.id }])
})

test('users see and change only their own blocks, and are not told who blocked them', async () => {
  await block(ana, ben.id)
  expect(await blocks(ben)).toEqual([])
  expect((await unblock(ben, ana.id)).status).toBe(204)
  expect(await blocks(ana)).toHaveLength(1)
  expect((await ben.call('GET', '/users/me/export')).body.blocks).toEqual([])
})

test('users cannot block themselves, unknown or inactive users, or invalid ids', async () => {
  const gone = await signUp('Gone')
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  for (const change of [block, unblock]) {
    expectError(await change(ana, ana.id), 400)
    for (const other of [2_147_483_648, gone.id]) expectError(await change(ana, other), 404)
    for (const other of ['0', '-1', '1.5', 'x', '1e3', '99999999999999999999', '%00']) {
      expectError(await change(ana, other), 400)
    }
  }
  expect(await blocks(ana)).toEqual([])
})

test('a block of a deactivated user can be removed', async () => {
  await block(ana, ben.id)
  await asAdmin('PATCH', `users?id=eq.${ben.id}`, { is_active: false })
  expect((await unblock(ana, ben.id)).status).toBe(204)
  expect(await blocks(ana)).toEqual([])
})

describe('between two users of whom one has blocked the other', () => {
  test('neither can open a conversation, with the same error for both; other pairs can', async () => {
    await block(ana, ben.id)
    const [one, other] = [await open(ana, ben), await open(ben, ana)]
    expectError(one, 403)
    expect(resultOf(other)).toEqual(resultOf(one))
    expect((await ana.call('GET', '/conversations')).body).toEqual([])
    expect((await open(ana, cleo)).status).toBe(201)
    expect((await open(cleo, ben)).status).toBe(201)
    await unblock(ana, ben.id)
    expect((await open(ben, ana)).status).toBe(201)
  })

  test('neither can send a message, with the same error for both; earlier messages stay', async () => {
    const conversation = await openConversation(ana, ben)
    const other = await openConversation(ana, cleo)
    const { id: up_to_message_id } = await sendMessage(ben, conversation, 'Before')
    await block(ben, ana.id)
    const [one, two] = [await write(ana, conversation), await write(ben, conversation)]
    expectError(one, 403)
    expect(resultOf(two)).toEqual(resultOf(one))
    expect((await write(ana, other)).status).toBe(201)
    for (const user of [ana, ben]) {
      expect((await user.call('GET', `/conversations/${conversation}/messages`)).body).toMatchObject([
        { content: 'Before' },
      ])
    }
    expect((await ana.call('POST', `/conversations/${conversation}/read`, { up_to_message_id })).status).toBe(200)
    expect((await open(ana, ben)).body.conversation_id).toBe(conversation)
    await unblock(ben, ana.id)
    expect((await write(ana, conversation)).status).toBe(201)
  })

  test('a retry of an earlier message is replayed, and its client_id allows no new one', async () => {
    const conversation = await openConversation(ana, ben)
    const client_id = crypto.randomUUID()
    const first = await write(ana, conversation, { client_id })
    await block(ben, ana.id)
    const again = await write(ana, conversation, { client_id })
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text })
    expectError(await write(ana, conversation, { client_id, content: 'Other' }), 422)
    expectError(await write(ana, conversation, { client_id: crypto.randomUUID() }), 403)
  })

  test('if both have blocked each other, both must unblock', async () => {
    await block(ana, ben.id)
    await block(ben, ana.id)
    await unblock(ana, ben.id)
    expectError(await open(ana, ben), 403)
    await unblock(ben, ana.id)
    expect((await open(ana, ben)).status).toBe(201)
  })

  test('neither finds the other by keywords, filters or meaning; other users find both', async () => {
    const city = uniqueCity('Blocken')
    for (const [user, name] of [[ana, 'Anouk'], [ben, 'Benoît'], [cleo, 'Cleo']] as const) {
      await user.call('PATCH', '/users/profile', { name, city, biography: 'I climb mountains', is_searchable: true })
    }
    const find = searchIn(city)
    const names = async (user?: Person, parameters = {}) => namesOf(await find(parameters, user?.token)).toSorted()
    expect(await names(ana)).toEqual(['Benoît', 'Cleo'])
    const ways: Record<string, string>[] = [{}, { q: 'climb mountains' }, { q: 'hiking' }]
    for (const parameters of ways) {
      // By meaning as well, once the profiles are embedded.
      const all = await until(() => find(parameters), ({ body }) => body.hits.length === 3)
      expect(namesOf(all).toSorted()).toEqual(['Anouk', 'Benoît', 'Cleo'])
    }
    await block(ana, ben.id)
    for (const parameters of ways) {
      expect(await names(ana, parameters)).not.toContain('Benoît')
      expect(await names(ben, parameters)).not.toContain('Anouk')
    }
    expect((await find({}, ben.token)).body.estimatedTotalHits).toBe(1)
    // Cleo may be similar in meaning to that name, because the city is random. No other user is found or counted.
    const { hits, estimatedTotalHits } = (await find({ q: 'Anouk' }, ben.token)).body
    expect(hits.filter(({ user_id }: { user_id: number }) => user_id !== cleo.id)).toEqual([])
    expect(estimatedTotalHits).toBe(hits.length)
    expect(await names(cleo, { q: 'Anouk' })).toContain('Anouk')
    expect(await names(cleo)).toEqual(['Anouk', 'Benoît'])
    expect(await names()).toEqual(['Anouk', 'Benoît', 'Cleo'])
    // The public view is cached and the same for every caller.
    expect((await ben.call('GET', `/users/${ana.profileId}`)).status).toBe(200)
    await unblock(ana, ben.id)
    expect(await names(ben)).toEqual(['Anouk', 'Cleo'])
  })
})
