// GET /conversations/changes. Concurrent transactions and restores are in tests/postgres/changes.test.ts.
import { beforeAll, describe, expect, test } from 'vitest'
import { asAdmin, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'
import { expectError } from '../tools/responses.ts'

interface Feed {
  changes: { kind: string; conversation_id: number; id: number }[]
  cursor: string
  more: boolean
}

const read = async (who: Person, cursor?: string, query = ''): Promise<Feed> => {
  const { status, body } = await who.call('GET', `/conversations/changes?${cursor ? `after=${cursor}` : ''}${query}`)
  expect(status).toBe(200)
  return body
}
/** Everything that the person sees of what the action changes, as [kind, id]. */
const seenBy = async (people: Person[], action: () => Promise<unknown>): Promise<[string, number][][]> => {
  const cursors = await Promise.all(people.map(async (who) => (await read(who)).cursor))
  await action()
  const feeds = await Promise.all(people.map((who, index) => read(who, cursors[index])))
  return feeds.map(({ changes }) => changes.map(({ kind, id }) => [kind, id]))
}
const decoded = (cursor: string) => Buffer.from(cursor, 'base64url').toString()
const snapshot = /,(\d+:\d+:\d*|"\d+:\d+:[\d,]*"),/
const edited = (cursor: string, edit: (fields: string) => string) =>
  Buffer.from(edit(decoded(cursor))).toString('base64url')

describe('GET /conversations/changes', () => {
  let ana: Person, ben: Person, mallory: Person
  let id: number
  beforeAll(async () => {
    ;[ana, ben, mallory] = await Promise.all([signUp('Ana'), signUp('Ben'), signUp('Mallory')])
    id = await openConversation(ana, ben)
  })

  test('without a cursor it answers with the present one and no changes, however much there is', async () => {
    await sendMessage(ana, id, 'Hello')
    expect(await read(ben)).toEqual({ changes: [], cursor: expect.stringMatching(/^[\w-]{50,400}$/), more: false })
  })

  test('a message, and that it was read, is there for both of the two, and for nobody else', async () => {
    let sent = 0
    const seen = await seenBy([ana, ben, mallory], async () => {
      sent = (await sendMessage(ana, id, 'Hello')).id
      await ben.call('POST', `/conversations/${id}/read`, { up_to_message_id: sent })
    })
    const both = [['message', sent], ['read', sent]]
    expect(seen).toEqual([both, both, []])
  })

  test('a conversation that is opened, and the partner who is renamed', async () => {
    const zoe = await signUp('Zoe')
    let opened = 0
    const open = async () => opened = await openConversation(zoe, ben)
    expect(await seenBy([zoe, ben, ana], open)).toEqual([[['conversation', opened]], [['conversation', opened]], []])
    const rename = () => asAdmin('PATCH', `users?id=eq.${zoe.id}`, { name: 'Zoë' })
    expect(await seenBy([zoe, ben, ana], rename)).toEqual([[['conversation', opened]], [['conversation', opened]], []])
    const move = () => asAdmin('PATCH', `users?id=eq.${zoe.id}`, { location: 'Porto' })
    expect(await seenBy([zoe, ben], move)).toEqual([[], []])
    const erase = async () => expect((await zoe.call('DELETE', '/users/me')).status).toBe(204)
    expect(await seenBy([ben, ana], erase)).toEqual([[['conversation', opened]], []])
  })

  test("an admin's correction and removal of a message", async () => {
    const kept = (await sendMessage(ana, id, 'Hello')).id
    const lost = (await sendMessage(ana, id, 'Rude')).id
    const seen = await seenBy([ana, ben, mallory], async () => {
      await asAdmin('PATCH', `messages?id=eq.${kept}`, { content: 'Hello!' })
      await asAdmin('PATCH', `messages?id=eq.${lost}`, { content: 'Less rude' })
      await asAdmin('DELETE', `messages?id=eq.${lost}`)
    })
    // The message that was corrected and then removed is one entity.
    const both = [['message', kept], ['message.removed', lost]]
    expect(seen).toEqual([both, both, []])
  })

  test('a reservation', async () => {
    let offered = 0
    const seen = await seenBy([ana, ben, mallory], async () => {
      const offer = { title: 'Two nights', price: 80, date: '2036-05-14T16:00:00Z' }
      offered = (await ana.call('POST', `/conversations/${id}/reservations`, offer)).body.id
      await ben.call('POST', `/conversations/${id}/reservations/${offered}/decline`, {})
    })
    expect(seen).toEqual([[['reservation', offered]], [['reservation', offered]], []])
  })

  test('a state or a block is there for whoever set it, and not for the partner', async () => {
    const arrange = (state: object) => () => ben.call('PUT', `/conversations/${id}/state`, state)
    expect(await seenBy([ana, ben], arrange({ pinned: true }))).toEqual([[], [['state', id]]])
    expect(await seenBy([ana, ben], arrange({ pinned: true }))).toEqual([[], []])
    const block = () => ana.call('PUT', `/users/me/blocks/${ben.id}`)
    expect(await seenBy([ana, ben], block)).toEqual([[['state', id]], []])
    const unblock = () => ana.call('DELETE', `/users/me/blocks/${ben.id}`)
    expect(await seenBy([ana, ben], unblock)).toEqual([[['state', id]], []])
  })

  test('pages in order, each change once, also of what comes between the pages', async () => {
    const { cursor: start } = await read(ana)
    const sent: number[] = []
    for (let count = 0; count < 7; count++) sent.push((await sendMessage(ben, id, `Message ${count}`)).id)
    const pages: Feed[] = [await read(ana, start, '&limit=3')]
    sent.push((await sendMessage(ben, id, 'In between')).id)
    while (pages.at(-1)!.more) pages.push(await read(ana, pages.at(-1)!.cursor, '&limit=3'))
    pages.push(await read(ana, pages.at(-1)!.cursor))
    expect(pages.map(({ changes }) => changes.length)).toEqual([3, 3, 1, 1])
    expect(pages.flatMap(({ changes }) => changes.map(({ id }) => id))).toEqual(sent)
    expect((await read(ana, pages.at(-1)!.cursor)).changes).toEqual([])
    // The same cursor gives the same again.
    expect((await read(ana, start, '&limit=3')).changes).toEqual(pages[0]!.changes)
  })

  test("somebody else's cursor and a malformed one are 400", async () => {
    const { cursor } = await read(ana)
    expectError(await mallory.call('GET', `/conversations/changes?after=${cursor}`), 400, 'after')
    const malformed = [
      'x',
      '!',
      'x'.repeat(4001),
      `${cursor.slice(0, -9)}`,
      edited(cursor, (fields) => fields.replace(/^\(\d+/, '(')),
      edited(cursor, (fields) => fields.replace(snapshot, ',,')),
      edited(cursor, (fields) => fields.replace(snapshot, ',9:1:,')),
      edited(cursor, () => `(${ana.id},x,,,,,,,)`),
      edited(cursor, () => '\xff\0'),
    ]
    for (const after of malformed) {
      expectError(await ana.call('GET', `/conversations/changes?after=${encodeURIComponent(after)}`), 400, 'after')
    }
    for (const limit of ['0', '-1', 'x', '1.5']) {
      expectError(await ana.call('GET', `/conversations/changes?limit=${limit}`), 400, 'limit')
    }
  })

  test('a cursor older than 30 days, of another database, or of what has never happened is 410', async () => {
    await sendMessage(ana, id, 'Hello')
    const { cursor } = await read(ana)
    const expectGone = async (edit: (fields: string) => string) => {
      const after = edited(cursor, edit)
      expect(after).not.toBe(cursor)
      expectError(await ana.call('GET', `/conversations/changes?after=${after}`), 410, 'read everything anew')
    }
    const issued = (days: number) => (fields: string) =>
      fields.replace(/"20[^"]*"/, `"${new Date(Date.now() - days * 86_400_000).toISOString()}"`)
    await expectGone(issued(30.01))
    expect((await read(ana, edited(cursor, issued(29.9)))).changes).toEqual([])
    await expectGone((fields) => fields.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, crypto.randomUUID()))
    await expectGone((fields) => fields.replace(snapshot, ',1:99999999999:,'))
    await expectGone((fields) => fields.replace(/,\d+,("[^"]*"\))$/, ',1,$1'))
  })
})
