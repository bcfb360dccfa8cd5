import { beforeEach, describe, expect, test } from 'vitest'
import { type Answer, asAdmin, call, converse, type Person, say, signUp } from '../tools/people.ts'
import { madeUpCity, namesOf, searchIn, until } from '../tools/search.ts'

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const told = ({ status, body }: Answer) => ({ status, body })
const refused = (status: number) => ({ status, body: { error: expect.any(String) } })
const block = (who: Person, whom: number | string) => who.call('PUT', `/users/me/blocks/${whom}`)
const unblock = (who: Person, whom: number | string) => who.call('DELETE', `/users/me/blocks/${whom}`)
const blocks = async (who: Person) => (await who.call('GET', '/users/me/blocks')).body
const open = (who: Person, whom: Person) => who.call('POST', '/conversations', { other_user_id: whom.id })
const write = (who: Person, conversation: number, fields = {}) =>
  who.call('POST', `/conversations/${conversation}/messages`, { content: 'Hello', ...fields })

let ana: Person, ben: Person, cleo: Person
beforeEach(async () => {
  ;[ana, ben, cleo] = await Promise.all([signUp('Ana'), signUp('Ben'), signUp('Cleo')])
})

test('somebody blocks, sees whom, latest first, and takes it back; a repeat changes nothing', async () => {
  expect(await blocks(ana)).toEqual([])
  for (const whom of [ben, ben, cleo, ben]) {
    const { status, text } = await block(ana, whom.id)
    expect({ status, text }).toEqual({ status: 204, text: '' })
  }
  expect(await blocks(ana)).toEqual([
    { user_id: cleo.id, name: 'Cleo', createdAt: timestamp },
    { user_id: ben.id, name: 'Ben', createdAt: timestamp },
  ])
  for (let time = 0; time < 2; time++) {
    const { status, text } = await unblock(ana, ben.id)
    expect({ status, text }).toEqual({ status: 204, text: '' })
  }
  expect(await blocks(ana)).toMatchObject([{ user_id: cleo.id }])
})

test('nobody sees or changes the blocks of somebody else, or is told that they were blocked', async () => {
  await block(ana, ben.id)
  expect(await blocks(ben)).toEqual([])
  expect((await unblock(ben, ana.id)).status).toBe(204)
  expect(await blocks(ana)).toHaveLength(1)
  expect((await ben.call('GET', '/users/me/export')).body.blocks).toEqual([])
})

test('nobody blocks themselves, somebody who is not there or not active, or what is no id', async () => {
  const gone = await signUp('Gone')
  await asAdmin('PATCH', `users?id=eq.${gone.id}`, { is_active: false })
  for (const ask of [block, unblock]) {
    expect(told(await ask(ana, ana.id))).toEqual(refused(400))
    for (const whom of [2_147_483_648, gone.id]) expect(told(await ask(ana, whom))).toEqual(refused(404))
    for (const whom of ['0', '-1', '1.5', 'x', '1e3', '99999999999999999999', '%00']) {
      expect(told(await ask(ana, whom))).toEqual(refused(400))
    }
  }
  expect(await blocks(ana)).toEqual([])
})

test('somebody who was blocked and is no longer active can still be let go', async () => {
  await block(ana, ben.id)
  await asAdmin('PATCH', `users?id=eq.${ben.id}`, { is_active: false })
  expect((await unblock(ana, ben.id)).status).toBe(204)
  expect(await blocks(ana)).toEqual([])
})

test('without a token, or deactivated, nobody has blocks', async () => {
  const routes = [['GET', ''], ['PUT', `/${ben.id}`], ['DELETE', `/${ben.id}`]] as const
  for (const [method, path] of routes) {
    expect(told(await call(method, `/users/me/blocks${path}`))).toEqual(refused(401))
  }
  await asAdmin('PATCH', `users?id=eq.${ana.id}`, { is_active: false })
  for (const [method, path] of routes) {
    expect(told(await ana.call(method, `/users/me/blocks${path}`))).toEqual(refused(403))
  }
})

describe('between two of whom one blocked the other', () => {
  test('no conversation is opened, from either side, in the same words; others open theirs', async () => {
    await block(ana, ben.id)
    const [one, other] = [await open(ana, ben), await open(ben, ana)]
    expect(told(one)).toEqual(refused(403))
    expect(told(other)).toEqual(told(one))
    expect((await ana.call('GET', '/conversations')).body).toEqual([])
    expect((await open(ana, cleo)).status).toBe(201)
    expect((await open(cleo, ben)).status).toBe(201)
    await unblock(ana, ben.id)
    expect((await open(ben, ana)).status).toBe(201)
  })

  test('nothing is sent, from either side, in the same words; what was said before stays', async () => {
    const conversation = await converse(ana, ben)
    const other = await converse(ana, cleo)
    const { id: up_to_message_id } = await say(ben, conversation, 'Before')
    await block(ben, ana.id)
    const [one, two] = [await write(ana, conversation), await write(ben, conversation)]
    expect(told(one)).toEqual(refused(403))
    expect(told(two)).toEqual(told(one))
    expect((await write(ana, other)).status).toBe(201)
    for (const who of [ana, ben]) {
      expect((await who.call('GET', `/conversations/${conversation}/messages`)).body).toMatchObject([
        { content: 'Before' },
      ])
    }
    expect((await ana.call('POST', `/conversations/${conversation}/read`, { up_to_message_id })).status).toBe(200)
    expect((await open(ana, ben)).body.conversation_id).toBe(conversation)
    await unblock(ben, ana.id)
    expect((await write(ana, conversation)).status).toBe(201)
  })

  test('a message that was sent before is still answered as it was, and its key is no way in', async () => {
    const conversation = await converse(ana, ben)
    const client_id = crypto.randomUUID()
    const first = await write(ana, conversation, { client_id })
    await block(ben, ana.id)
    const again = await write(ana, conversation, { client_id })
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text })
    expect(told(await write(ana, conversation, { client_id, content: 'Other' }))).toEqual(refused(422))
    expect(told(await write(ana, conversation, { client_id: crypto.randomUUID() }))).toEqual(refused(403))
  })

  test('each is blocked by the other, and both have to let go', async () => {
    await block(ana, ben.id)
    await block(ben, ana.id)
    await unblock(ana, ben.id)
    expect(told(await open(ana, ben))).toEqual(refused(403))
    await unblock(ben, ana.id)
    expect((await open(ana, ben)).status).toBe(201)
  })

  test('neither finds the other, by words, by filters or by meaning; everybody else finds both', async () => {
    const city = madeUpCity('Blocken')
    for (const [who, name] of [[ana, 'Anouk'], [ben, 'Benoît'], [cleo, 'Cleo']] as const) {
      await who.call('PATCH', '/users/profile', { name, city, biography: 'I climb mountains', is_searchable: true })
    }
    const find = searchIn(city)
    const seen = async (who?: Person, parameters = {}) => namesOf(await find(parameters, who?.token)).toSorted()
    expect(await seen(ana)).toEqual(['Benoît', 'Cleo'])
    const ways: Record<string, string>[] = [{}, { q: 'climb mountains' }, { q: 'hiking' }]
    for (const parameters of ways) {
      // By meaning once there are vectors.
      const all = await until(() => find(parameters), ({ body }) => body.hits.length === 3)
      expect(namesOf(all).toSorted()).toEqual(['Anouk', 'Benoît', 'Cleo'])
    }
    await block(ana, ben.id)
    for (const parameters of ways) {
      expect(await seen(ana, parameters)).not.toContain('Benoît')
      expect(await seen(ben, parameters)).not.toContain('Anouk')
    }
    expect((await find({}, ben.token)).body.estimatedTotalHits).toBe(1)
    // Cleo may be near that name by meaning, as chance has it with a made-up city; nobody else is found, nor counted.
    const { hits, estimatedTotalHits } = (await find({ q: 'Anouk' }, ben.token)).body
    expect(hits.filter(({ user_id }: { user_id: number }) => user_id !== cleo.id)).toEqual([])
    expect(estimatedTotalHits).toBe(hits.length)
    expect(await seen(cleo, { q: 'Anouk' })).toContain('Anouk')
    expect(await seen(cleo)).toEqual(['Anouk', 'Benoît'])
    expect(await seen()).toEqual(['Anouk', 'Benoît', 'Cleo'])
    // The public view is everybody's, kept by caches, and asks nobody who they are.
    expect((await ben.call('GET', `/users/${ana.profileId}`)).status).toBe(200)
    await unblock(ana, ben.id)
    expect(await seen(ben)).toEqual(['Anouk', 'Cleo'])
  })
})
