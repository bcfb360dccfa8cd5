import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type Answer,
  asAdmin,
  dataApi,
  openConversation,
  type Person,
  seededInterests,
  sendMessage,
  signUp,
} from '../tools/people.ts'
import { errorOf, expectError, idsOf, resultOf } from '../tools/responses.ts'

const times = <Result>(count: number, each: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => each(index)))

type Identified = { header?: string; client_id?: unknown }
const send = (sender: Person, id: number, draft: object, { header, client_id }: Identified = {}) =>
  sender.call('POST', `/conversations/${id}/messages`, { ...draft, ...(client_id !== undefined && { client_id }) }, {
    headers: { ...(header !== undefined && { 'Idempotency-Key': header }) },
  })
const messagesOf = async (reader: Person, id: number) => {
  const { status, body } = await reader.call('GET', `/conversations/${id}/messages?order=asc&limit=100`)
  expect(status).toBe(200)
  return body
}
const isReplay = ({ headers }: Answer) => headers.get('Idempotency-Replayed')

describe('a client_id', () => {
  const hello = { content: 'Hello' }
  const attachment = { url: 'https://files.example/b.png', name: 'b.png', mime_type: 'image/png', size: 7 }
  let ana: Person, bob: Person
  let conversation: number
  beforeEach(async () => {
    ;[ana, bob] = await Promise.all([signUp('Ana'), signUp('Bob')])
    conversation = await openConversation(ana, bob)
  })

  const inHeader = (clientId: string): Identified => ({ header: clientId })
  const inBody = (clientId: string): Identified => ({ client_id: clientId })
  const inCapitals = (clientId: string): Identified => ({ header: clientId.toUpperCase() })
  const inBoth = (clientId: string): Identified => ({ ...inCapitals(clientId), client_id: clientId })

  test.each([
    ['the header', 'the header', inHeader, inHeader],
    ['client_id', 'client_id', inBody, inBody],
    ['the header', 'client_id', inHeader, inBody],
    ['client_id', 'both', inBody, inBoth],
    ['the header', 'capitals', inHeader, inCapitals],
  ])(
    'by %s, then by %s: the first response is replayed, whatever has changed',
    async (_, __, before, again) => {
      const clientId = randomUUID()
      const draft = { content: ' Héllo 🚶\n', attachment }
      const first = await send(ana, conversation, draft, before(clientId))
      expect([first.status, isReplay(first)]).toEqual([201, null])
      await bob.call('PATCH', `/conversations/${conversation}/messages/${first.body.id}/read`)
      await ana.call('PATCH', '/users/profile', { name: 'Ana the Second' })
      await sendMessage(bob, conversation, 'Answer')
      for (
        const repeat of [
          await send(ana, conversation, draft, again(clientId)),
          await send(ana, conversation, draft, before(clientId)),
        ]
      ) {
        expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 201, text: first.text })
        expect(isReplay(repeat)).toBe('true')
        expect(repeat.headers.get('Content-Type')).toBe(first.headers.get('Content-Type'))
      }
      expect(await messagesOf(bob, conversation)).toMatchObject([
        { id: first.body.id, read: true, Sender: { name: 'Ana the Second' } },
        { content: 'Answer' },
      ])
    },
  )

  test('without a client_id, sending twice creates two messages', async () => {
    const answers = [await send(ana, conversation, hello), await send(ana, conversation, hello, { client_id: null })]
    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers.map(isReplay)).toEqual([null, null])
    expect(idsOf(await messagesOf(bob, conversation))).toEqual(answers.map(({ body }) => body.id))
  })

  test('a client_id cannot be reused for another message', async () => {
    const [clientId, bare] = [randomUUID(), randomUUID()]
    const draft = { ...hello, attachment }
    const first = await send(ana, conversation, draft, inHeader(clientId))
    await send(ana, conversation, hello, inHeader(bare))
    for (
      const other of [{ ...draft, content: 'Hello ' }, hello, { ...draft, attachment: { ...attachment, size: 8 } }]
    ) {
      expectError(await send(ana, conversation, other, inHeader(clientId)), 422)
      expectError(await send(ana, conversation, other, inBody(clientId)), 422)
    }
    expectError(await send(ana, conversation, draft, inHeader(bare)), 422)
    expect((await send(ana, conversation, draft, inHeader(clientId))).text).toBe(first.text)
    expect(await messagesOf(bob, conversation)).toHaveLength(2)
  })

  test('a client_id cannot be reused in another conversation', async () => {
    const cleo = await signUp('Cleo')
    const other = await openConversation(ana, cleo)
    const clientId = randomUUID()
    await send(ana, conversation, hello, inHeader(clientId))
    expectError(await send(ana, other, hello, inHeader(clientId)), 422)
    expect(await messagesOf(cleo, other)).toEqual([])
  })

  test('a client_id belongs to its sender: the same one from both sides creates two messages', async () => {
    const clientId = randomUUID()
    const answers = [
      await send(ana, conversation, hello, inHeader(clientId)),
      await send(bob, conversation, hello, inHeader(clientId)),
    ]
    expect(answers.map(isReplay)).toEqual([null, null])
    expect(answers.map(({ status, body }) => [status, body.user_id])).toEqual([[201, ana.id], [201, bob.id]])
    expect(idsOf(await messagesOf(ana, conversation))).toEqual(answers.map(({ body }) => body.id))
  })

  test('a refused message does not consume its client_id', async () => {
    const clientId = randomUUID()
    expectError(await send(ana, conversation, { content: ' ' }, inHeader(clientId)), 400, 'content')
    expectError(await send(ana, 999_999_999, hello, inHeader(clientId)), 404)
    const sent = await send(ana, conversation, hello, inHeader(clientId))
    expect([sent.status, isReplay(sent)]).toEqual([201, null])
  })

  test('two different ids and ids that are not UUIDs are refused, naming the field', async () => {
    const two = { header: randomUUID(), client_id: randomUUID() }
    expect(resultOf(await send(ana, conversation, hello, two))).toEqual(errorOf(400, '(client_id|Idempotency-Key)'))
    for (
      const clientId of ['abc', '7', randomUUID().slice(1), `${randomUUID()}0`, `{${randomUUID()}}`, 'g'.repeat(36)]
    ) {
      expectError(await send(ana, conversation, hello, inHeader(clientId)), 400, 'idempotency-key')
      expectError(await send(ana, conversation, hello, inBody(clientId)), 400, 'client_id')
    }
    for (const client_id of ['', 7, true, [randomUUID()], {}]) {
      expectError(await send(ana, conversation, hello, { client_id }), 400, 'client_id')
    }
    expect(await messagesOf(bob, conversation)).toEqual([])
  })

  test('twenty concurrent sends with one client_id create one message and get the same response', async () => {
    const clientId = randomUUID()
    const answers = await times(
      20,
      (index) => send(ana, conversation, hello, index % 2 ? inHeader(clientId) : inBody(clientId)),
    )
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]!.status).toBe(201)
    expect(answers.map(isReplay).sort()).toEqual([null, ...Array(19).fill('true')].sort())
    expect(await messagesOf(bob, conversation)).toEqual([answers[0]!.body])
    expect((await asAdmin('GET', `messages?client_id=eq.${clientId}`)).body).toMatchObject([{
      id: answers[0]!.body.id,
    }])
  })

  test('of different messages racing for one client_id, in one or two conversations, one is sent', async () => {
    const cleo = await signUp('Cleo')
    const other = await openConversation(cleo, ana)
    const clientId = randomUUID()
    const drafts = [[conversation, 'This'], [conversation, 'That'], [other, 'This']] as const
    const answers = await times(30, (index) => {
      const [id, content] = drafts[index % 3]!
      return send(ana, id, { content }, inHeader(clientId))
    })
    const sent = answers.filter(({ status }) => status === 201)
    expect(sent).toHaveLength(10)
    expect(new Set(sent.map(({ text }) => text)).size).toBe(1)
    for (const answer of answers.filter((answer) => !sent.includes(answer))) {
      expectError(answer, 422)
    }
    const kept = [...await messagesOf(bob, conversation), ...await messagesOf(cleo, other)]
    expect(kept).toEqual([sent[0]!.body])
  })
})

test('of a hundred concurrent requests to open a conversation, one succeeds and the others get its id', async () => {
  for (let round = 0; round < 3; round++) {
    const [ana, bob] = await Promise.all([signUp('Ana'), signUp('Bob')])
    const answers = await times(100, (index) => {
      const [opener, other] = index % 2 ? [ana, bob] : [bob, ana]
      return opener.call('POST', '/conversations', { other_user_id: other.id })
    })
    const opened = answers.filter(({ status }) => status === 201)
    expect(opened).toHaveLength(1)
    const [{ id, voyager_id, local_id }] = [opened[0]!.body]
    expect([voyager_id, local_id].sort()).toEqual([ana.id, bob.id].sort())
    expect(voyager_id).toBe(answers.indexOf(opened[0]!) % 2 ? ana.id : bob.id)
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(resultOf(answer)).toEqual({
        status: 409,
        body: { error: expect.stringMatching(/\w/), conversation_id: id },
      })
    }
    const pair = `(${ana.id},${bob.id})`
    const { body: rows } = await asAdmin('GET', `conversations?voyager_id=in.${pair}&local_id=in.${pair}`)
    expect(rows).toMatchObject([{ id, voyager_id, local_id }])
  }
})

test('thirty concurrent users never see data of others', async () => {
  // A few at a time, because hashing their passwords takes the machine a while.
  const people: Person[] = []
  while (people.length < 30) {
    people.push(
      ...await times(6, (index) => {
        const number = people.length + index
        return signUp(`Person ${number}`, { bio: `Bio ${number}` })
      }),
    )
  }
  const opened: number[] = await Promise.all(
    people.map((person, index) => openConversation(person, people[(index + 1) % 30]!)),
  )
  expect(new Set(opened).size).toBe(30)

  const work = async (index: number, round: number) => {
    const [me, next] = [people[index]!, people[(index + 1) % 30]!]
    const [mine, toMe, foreign] = [opened[index]!, opened[(index + 29) % 30]!, opened[(index + 10) % 30]!]
    const content = `From ${me.id} to ${next.id}, round ${round}`
    const [account, listed, sent, received, outside, rows] = await Promise.all([
      me.call('GET', '/users/me'),
      me.call('GET', '/conversations'),
      send(me, mine, { content }, { header: randomUUID() }),
      me.call('GET', `/conversations/${toMe}/messages`),
      me.call('GET', `/conversations/${foreign}/messages`),
      dataApi(me.token, 'GET', 'users?select=id,email'),
    ])
    expect(account).toMatchObject({
      status: 200,
      body: { id: me.id, name: me.name, email: me.email, bio: `Bio ${index}` },
    })
    expect(account.body.Profile).toMatchObject({ id: me.profileId, user_id: me.id })
    expect(listed.status).toBe(200)
    expect(idsOf(listed.body).sort()).toEqual([mine, toMe].sort())
    for (const { Voyager, Local, Messages } of listed.body) {
      expect([Voyager.id, Local.id]).toContain(me.id)
      for (const last of Messages) expect(last.content).toContain(`From ${Voyager.id} to ${Local.id}, round `)
    }
    expect(sent).toMatchObject({ status: 201, body: { content, user_id: me.id, conversation_id: mine } })
    expect(sent.body.Sender).toEqual({ id: me.id, name: me.name })
    expect(received.status).toBe(200)
    for (const message of received.body) expect(message.content).toContain(` to ${me.id}, round `)
    expectError(outside, 404)
    expect(rows.body).toEqual([{ id: me.id, email: me.email }])
    return sent.body.id
  }

  const rounds = await times(30, (index) => times(4, (round) => work(index, round)))
  expect(new Set(rounds.flat()).size).toBe(120)
  for (const [index, id] of opened.entries()) {
    const { id: sender } = people[index]!
    const contents = (await messagesOf(people[index]!, id)).map(({ content }: { content: string }) => content).sort()
    const expected = [0, 1, 2, 3].map((round) => `From ${sender} to ${people[(index + 1) % 30]!.id}, round ${round}`)
    expect(contents).toEqual(expected)
  }
})

test('paging with after_id misses none of sixty concurrent messages', async () => {
  const [ana, bob] = await Promise.all([signUp('Ana'), signUp('Bob')])
  const conversation = await openConversation(ana, bob)
  const start: number = (await sendMessage(ana, conversation, 'Start')).id
  let sending = true

  const catchUp = async (reader: Person, limit: number) => {
    const ids = [start]
    let [stopped, pages] = [false, 0]
    while (!stopped) {
      stopped = !sending
      const page = await reader.call(
        'GET',
        `/conversations/${conversation}/messages?limit=${limit}&after_id=${ids.at(-1)}`,
      )
      expect(page.status).toBe(200)
      if (page.body.length > 0) [stopped, pages] = [false, pages + 1]
      ids.push(...idsOf(page.body))
    }
    expect(pages).toBeGreaterThan(1)
    return ids
  }

  const readers = Promise.all([catchUp(ana, 7), catchUp(bob, 1), catchUp(ana, 100)])
  const sent = await times(12, async (index) => {
    const ids: number[] = []
    for (let turn = 0; turn < 5; turn++) {
      ids.push((await sendMessage(index % 2 ? ana : bob, conversation, `${index}.${turn}`)).id)
    }
    return ids
  })
  sending = false
  const all = idsOf(await messagesOf(bob, conversation))
  expect(all).toEqual([start, ...sent.flat().sort((a, b) => a - b)])
  for (const ids of await readers) expect(ids).toEqual(all)
})

test('of concurrent sets of interests, one is stored as a whole', async () => {
  const ana = await signUp('Ana')
  const ids: number[] = (await seededInterests()).map(({ id }) => id)
  const sets = [ids.slice(0, 30), ids.slice(30, 60)]
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      [0, 1, 0, 1].map((which) => ana.call('PUT', '/users/profile/interests', { interest_ids: sets[which] })),
    )
    const { body } = await ana.call('GET', '/users/me')
    const kept = body.Profile.Interests.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b)
    expect(sets).toContainEqual(kept)
  }
})

test('a change of interests beside an erasure is stored or refused', async () => {
  const [interest] = await seededInterests()
  const change = async () => {
    const { call } = await signUp('Leaving')
    const [changed, erased] = await Promise.all([
      call('PUT', '/users/profile/interests', { interest_ids: [interest!.id] }),
      call('DELETE', '/users/me'),
    ])
    expect(erased.status).toBe(204)
    return changed.status
  }
  const statuses = await Promise.all(Array.from({ length: 30 }, change))
  for (const status of statuses) expect([200, 401]).toContain(status)
})
