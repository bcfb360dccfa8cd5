import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { expectError, resultOf } from '../tools/responses.ts'

const unknown = 999_999_999
const done = { status: 200, body: { success: true } }

const mark = (reader: Person, conversation: number | string, message: number | string) =>
  reader.call('PATCH', `/conversations/${conversation}/messages/${message}/read`)
const markUpTo = (reader: Person, conversation: number, up_to_message_id: unknown) =>
  reader.call('POST', `/conversations/${conversation}/read`, { up_to_message_id })

/** The ids of the read messages; both participants must see the same. */
const readIn = async (conversation: number): Promise<number[]> => {
  const readIds = await Promise.all([ana, bob].map(async (reader) => {
    const { body } = await reader.call('GET', `/conversations/${conversation}/messages?order=asc`)
    return (body as { id: number; read: boolean }[]).filter(({ read }) => read).map(({ id }) => id)
  }))
  expect(readIds[0]).toEqual(readIds[1])
  return readIds[0]!
}

const unreadOf = async (reader: Person) => {
  const { status, body } = await reader.call('GET', '/conversations/unread')
  expect(status).toBe(200)
  body.conversations.sort((a: { conversation_id: number }, b: { conversation_id: number }) =>
    a.conversation_id - b.conversation_id
  )
  return body
}

let ana: Person, bob: Person, cleo: Person
let conversation: number
let fromAna: number[]
let fromBob: number[]

/** Ana and Bob are new and send alternately: a b a b a b. */
const meet = async () => {
  ;[ana, bob] = await Promise.all([signUp('Ana'), signUp('Bob')])
  conversation = await openConversation(ana, bob)
  fromAna = []
  fromBob = []
  for (const turn of [1, 2, 3]) {
    fromAna.push((await sendMessage(ana, conversation, `Ana ${turn}`)).id)
    fromBob.push((await sendMessage(bob, conversation, `Bob ${turn}`)).id)
  }
}
beforeAll(async () => {
  cleo = await signUp('Cleo')
})

describe('marking one message', () => {
  beforeEach(meet)

  test('the recipient marks exactly this message as read', async () => {
    expect(await readIn(conversation)).toEqual([])
    expect(resultOf(await mark(bob, conversation, fromAna[1]!))).toEqual(done)
    expect(await readIn(conversation)).toEqual([fromAna[1]])
  })

  test('marking an own message returns success and changes nothing', async () => {
    expect(resultOf(await mark(ana, conversation, fromAna[1]!))).toEqual(done)
    expect(resultOf(await mark(bob, conversation, fromBob[2]!))).toEqual(done)
    expect(await readIn(conversation)).toEqual([])
  })

  test('a read message stays read', async () => {
    for (const reader of [bob, bob, ana]) {
      expect(resultOf(await mark(reader, conversation, fromAna[0]!))).toEqual(done)
      expect(await readIn(conversation)).toEqual([fromAna[0]])
    }
  })

  test('the conversation list shows both participants whether the latest message was read', async () => {
    const latest = async (reader: Person) => (await reader.call('GET', '/conversations')).body[0].Messages[0]
    for (const reader of [ana, bob]) expect(await latest(reader)).toMatchObject({ id: fromBob[2], read: false })
    await mark(ana, conversation, fromBob[2]!)
    for (const reader of [ana, bob]) expect(await latest(reader)).toMatchObject({ id: fromBob[2], read: true })
  })

  test('no body is needed, and read: false changes nothing', async () => {
    const path = `/conversations/${conversation}/messages/${fromAna[0]}/read`
    await bob.call('PATCH', path)
    expect(resultOf(await bob.call('PATCH', path, { read: false }))).toEqual(done)
    expect(await readIn(conversation)).toEqual([fromAna[0]])
  })

  test('a message of another conversation is 404, even for its recipient', async () => {
    const other = await openConversation(ana, cleo)
    const { id } = await sendMessage(cleo, other, 'To ana, elsewhere')
    const foreign = await mark(ana, conversation, id)
    expectError(foreign, 404)
    expect((await mark(ana, conversation, unknown)).text).toBe(foreign.text)
    expectError(await markUpTo(ana, conversation, id), 404)
    expect((await cleo.call('GET', `/conversations/${other}/messages`)).body).toMatchObject([{ id, read: false }])
    expect(await readIn(conversation)).toEqual([])
    expect(resultOf(await mark(ana, other, id))).toEqual(done)
  })

  test('an outsider gets the same 404 as for an unknown message', async () => {
    const foreign = await mark(cleo, conversation, fromAna[0]!)
    expectError(foreign, 404)
    for (const message of [unknown, Number.MAX_SAFE_INTEGER]) {
      const { status, text } = await mark(cleo, conversation, message)
      expect({ status, text }).toEqual({ status: 404, text: foreign.text })
    }
    expect(await readIn(conversation)).toEqual([])
  })
})

describe('marking all messages up to one', () => {
  beforeEach(meet)

  test('marks the received messages up to it', async () => {
    expect(resultOf(await markUpTo(bob, conversation, fromAna[1]))).toEqual(done)
    expect(await readIn(conversation)).toEqual(fromAna.slice(0, 2))
  })

  test('accepts an own message as the limit', async () => {
    expect(resultOf(await markUpTo(bob, conversation, fromBob[1]))).toEqual(done)
    expect(await readIn(conversation)).toEqual(fromAna.slice(0, 2))
    expect(resultOf(await markUpTo(ana, conversation, fromAna[0]))).toEqual(done)
    expect(await readIn(conversation)).toEqual(fromAna.slice(0, 2))
  })

  test('never marks messages unread, and a repeat changes nothing', async () => {
    for (const message of [fromAna[2], fromAna[2], fromAna[0]]) {
      expect(resultOf(await markUpTo(bob, conversation, message))).toEqual(done)
      expect(await readIn(conversation)).toEqual(fromAna)
    }
  })

  test('keeps messages marked out of order and fills the gap before them', async () => {
    await mark(bob, conversation, fromAna[2]!)
    await markUpTo(bob, conversation, fromAna[0])
    expect(await readIn(conversation)).toEqual([fromAna[0], fromAna[2]])
    await markUpTo(bob, conversation, fromAna[2])
    expect(await readIn(conversation)).toEqual(fromAna)
  })

  test('of an unknown message marks nothing', async () => {
    for (const message of [unknown, Number.MAX_SAFE_INTEGER]) {
      expectError(await markUpTo(bob, conversation, message), 404)
    }
    expect(await readIn(conversation)).toEqual([])
  })
})

describe('unread counts', () => {
  beforeEach(meet)

  test('are zero without messages', async () => {
    const dan = await signUp('Dan')
    expect(await unreadOf(dan)).toEqual({ total: 0, conversations: [] })
    await openConversation(dan, cleo)
    expect(await unreadOf(dan)).toEqual({ total: 0, conversations: [] })
  })

  test('count received messages until they are read, whatever the partner reads', async () => {
    const other = await openConversation(cleo, ana)
    const [first, second] = [await sendMessage(cleo, other, 'One'), await sendMessage(cleo, other, 'Two')]
    await sendMessage(ana, other, 'Mine')
    const inBoth = (here: number, there: number) => ({
      total: here + there,
      conversations: [{ conversation_id: conversation, unread: here }, { conversation_id: other, unread: there }]
        .filter(({ unread }) => unread > 0),
    })
    expect(await unreadOf(ana)).toEqual(inBoth(3, 2))
    await markUpTo(bob, conversation, fromBob[2])
    await mark(bob, conversation, fromBob[2]!)
    expect(await unreadOf(ana)).toEqual(inBoth(3, 2))
    await mark(ana, conversation, fromBob[1]!)
    await mark(ana, conversation, fromBob[1]!)
    expect(await unreadOf(ana)).toEqual(inBoth(2, 2))
    await mark(ana, other, second.id)
    expect(await unreadOf(ana)).toEqual(inBoth(2, 1))
    await mark(ana, other, first.id)
    expect(await unreadOf(ana)).toEqual(inBoth(2, 0))
    await markUpTo(ana, conversation, fromBob[2])
    expect(await unreadOf(ana)).toEqual(inBoth(0, 0))
    await sendMessage(cleo, other, 'Three')
    expect(await unreadOf(ana)).toEqual(inBoth(0, 1))
  })

  test('are not changed by reading messages without marking them', async () => {
    const before = await unreadOf(bob)
    expect(before).toEqual({ total: 3, conversations: [{ conversation_id: conversation, unread: 3 }] })
    for (const path of ['', `/${conversation}`, `/${conversation}/messages`]) {
      await bob.call('GET', `/conversations${path}`)
    }
    expect(await unreadOf(bob)).toEqual(before)
  })
})
