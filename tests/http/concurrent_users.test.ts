// Concurrent requests share a few connections, on one machine a single one, and each must stay its caller's.
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { dataApi, openConversation, type Person, signUp } from '../tools/people.ts'
import { expectError, idsOf } from '../tools/responses.ts'

const times = <Result>(count: number, each: (index: number) => Promise<Result>): Promise<Result[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => each(index)))

test('thirty concurrent users never see data of others', async () => {
  // A few at a time, because hashing their passwords takes the machine a while.
  const people: Person[] = []
  while (people.length < 30) {
    const from = people.length
    people.push(...await times(6, (index) => signUp(`Person ${from + index}`, { bio: `Bio ${from + index}` })))
  }
  const next = (index: number) => (index + 1) % 30
  const opened = await times(30, (index) => openConversation(people[index]!, people[next(index)]!))
  expect(new Set(opened).size).toBe(30)
  const textOf = (index: number, round: number) =>
    `From ${people[index]!.id} to ${people[next(index)]!.id}, round ${round}`

  const work = async (index: number, round: number): Promise<number> => {
    const me = people[index]!
    const [mine, toMe, foreign] = [opened[index]!, opened[(index + 29) % 30]!, opened[(index + 10) % 30]!]
    const draft = { content: textOf(index, round) }
    const headers = { 'Idempotency-Key': randomUUID() }
    const [account, listed, sent, received, outside, rows] = await Promise.all([
      me.call('GET', '/users/me'),
      me.call('GET', '/conversations'),
      me.call('POST', `/conversations/${mine}/messages`, draft, { headers }),
      me.call('GET', `/conversations/${toMe}/messages`),
      me.call('GET', `/conversations/${foreign}/messages`),
      dataApi(me.token, 'GET', 'users?select=id,email'),
    ])
    const own = { id: me.id, name: me.name, email: me.email, bio: `Bio ${index}` }
    expect(account).toMatchObject({ status: 200, body: { ...own, Profile: { id: me.profileId, user_id: me.id } } })
    expect(listed.status).toBe(200)
    expect(idsOf(listed.body).toSorted()).toEqual([mine, toMe].toSorted())
    for (const { Voyager, Local, Messages } of listed.body) {
      expect([Voyager.id, Local.id]).toContain(me.id)
      for (const last of Messages) expect(last.content).toContain(`From ${Voyager.id} to ${Local.id}, round `)
    }
    const sender = { user_id: me.id, conversation_id: mine, Sender: { id: me.id, name: me.name } }
    expect(sent).toMatchObject({ status: 201, body: { ...draft, ...sender } })
    expect(received.status).toBe(200)
    for (const message of received.body) expect(message.content).toContain(` to ${me.id}, round `)
    expectError(outside, 404, 'Conversation not found')
    expect(rows.body).toEqual([{ id: me.id, email: me.email }])
    return sent.body.id
  }
  const sent: number[] = []
  for (const round of [0, 1, 2, 3]) sent.push(...await times(30, (index) => work(index, round)))
  expect(new Set(sent).size).toBe(120)
  for (const [index, id] of opened.entries()) {
    const { body } = await people[index]!.call('GET', `/conversations/${id}/messages`)
    const contents = body.map(({ content }: { content: string }) => content)
    expect(contents.toSorted()).toEqual([0, 1, 2, 3].map((round) => textOf(index, round)))
  }
})
