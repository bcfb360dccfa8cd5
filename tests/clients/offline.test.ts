// What is shown before the service has answered, or without it.
import { expect, test } from 'vitest'
import { openCache } from '../../clients/cache.ts'
import { withTimeouts } from '../../clients/storage.ts'
import { advance, block, closeChat, forget, hear, intercept, leave, network, offline, openAs } from './fixture.ts'
import { playAll, type Scene, send, useFakeTime, withoutPolling } from './fixture.ts'
import { refusal } from './simulated_service.ts'

useFakeTime()

const inBrowser = { ...withoutPolling, browser: true, messages: 3 } as const
const openPage = ({ openPage }: Scene) => openPage()
/** The inbox is opened again, as after a reload. */
const again = [1100, leave, forget, openPage]
const time = expect.stringMatching(/^\d{4}-.*Z$/)
const fresh = { isComplete: true, asOf: null, error: null, inbox: { asOf: null, loaded: true, error: null } }
const unknown = { messages: [], asOf: null, loaded: false, inbox: { asOf: null, loaded: false, conversations: [] } }
const correct = ({ table, correctMessage }: Scene) => correctMessage(table[0]!, 'Corrected')
const remove = ({ table, removeMessage }: Scene) => removeMessage(table[1]!)
const reads = (text: string, count: number) => ({ requestsWith }: Scene) =>
  expect(requestsWith(text)).toHaveLength(count)
const seen = ({ origin }: Scene) => origin.values.get('voyagers-and-locals:seen') as Record<string, unknown> | undefined
const newestListed = ({ inbox, table }: Scene) =>
  expect(inbox.view.conversations[0]!.Messages[0]).toMatchObject({ id: table.at(-1)!.id })

// deno-fmt-ignore
playAll([
  ['without a network the list and the messages are there, as of when they were read, with what waits to be sent',
    inBrowser, offline, send('Waiting'), ...again,
    { inbox: { me: { id: 1, name: 'Ana' }, unread: 3, loaded: true, asOf: time, status: 'offline' } }, newestListed,
    { isComplete: true, loaded: true, asOf: time, status: 'offline', other: { id: 2, name: 'Bob' } },
    { outgoing: [{ content: 'Waiting' }] },
    network(), 60_000, fresh, { status: 'live', stored: ['Message 1', 'Message 2', 'Message 3', 'Waiting'] }],
  ['so are they where a conversation is opened later', inBrowser,
    1100, leave, offline, openPage, closeChat, (scene) => scene.chat = scene.inbox.open(7),
    { isComplete: true, asOf: time }],
  ['what has changed since is read, and each list once', inBrowser,
    ...again, fresh, reads('GET conversations?', 1), reads('GET conversations/unread', 1),
    reads('messages?limit=50', 1), ({ requestsWith }) => expect(requestsWith('changes')[0]).toMatch(/after=c3$/)],
  ['a block of the user’s own meanwhile hides the address in the list', inBrowser,
    1100, leave, block(1), openPage, { inbox: { asOf: null, conversations: [{ Local: { email: '' } }] } }],
  ['what has changed meanwhile is read, and what was removed does not come back', inBrowser,
    1100, leave, hear('Next'), correct, remove, openPage, fresh, { texts: ['Corrected', 'Message 3', 'Next'] },
    { unread: 3 }, newestListed],
  ['what is removed or corrected while its conversation is closed is not shown without a network later', inBrowser,
    1100, closeChat, correct, remove, hear('Next'), ({ client }) => client.disconnect(), 20_000, offline, leave,
    openPage, { texts: ['Message 3'], asOf: time }, newestListed,
    ({ inbox, chat }) => expect(chat.view.asOf! < inbox.view.asOf!).toBe(true)],
  ['a conversation that is not the user’s any more is not shown', inBrowser, 1100, leave, offline, openPage,
    { loaded: true }, intercept((_, __, path) => /7/.test(path) ? refusal('not_found', 'Not found') : null), network(),
    60_000, { messages: [], loaded: false, asOf: null, other: null, error: { status: 404 } }],
  ['a cursor that is damaged means to read everything anew', inBrowser,
    1100, leave, ({ table }) => table.splice(1, 1),
    (scene) => intercept((_, __, path) => {
      if (!path.includes('changes')) return null
      scene.server.intercept = null
      return refusal('invalid', 'No such cursor')
    })(scene),
    openPage, fresh, { status: 'live', texts: ['Message 1', 'Message 3'], unread: 2 }],
  ['the list and the blocks are read also while the service cannot say what has changed', inBrowser, 1100, leave,
    hear('Next'), forget, intercept((_, __, path) => /changes/.test(path) ? refusal('unavailable', 'Busy') : null),
    openPage, { unread: 4 }, reads('me/blocks', 1)],
  ['another user sees nothing of it, and it is gone, also if the one before was not there to delete it', inBrowser,
    1100, leave, (scene) => expect(JSON.stringify(seen(scene))).toContain('Message 3'),
    offline, ({ openPage }) => openPage(2), unknown, (scene) => expect(seen(scene)).toBe(undefined)],
  ['what is damaged, or of another version, is thrown away', inBrowser, 1100, leave, async (scene) => {
    const whole = seen(scene)!
    const { inbox, pages: [page] } = whole as unknown as { inbox: object; pages: object[] }
    const damaged = [
      ...['text', 7, {}, { ...whole, version: 0 }, { ...whole, inbox: null }, { ...whole, pages: [null] }],
      ...[{ conversations: [{}] }, { me: null }].map((part) => ({ ...whole, inbox: { ...inbox, ...part } })),
      ...[{ messages: [{}] }, { reservations: null }].map((part) => ({ ...whole, pages: [{ ...page, ...part }] })),
    ]
    for (const value of damaged) {
      scene.origin.values.set('voyagers-and-locals:seen', value)
      scene.setNetwork({ requestLoss: 1 })
      await scene.openPage()
      expect([scene.inbox.view.loaded, scene.chat.view.loaded, seen(scene)]).toEqual([false, false, undefined])
      scene.inbox.close()
    }
  }],
  ['a storage that hangs or fails holds nothing up', inBrowser,
    ({ simulator, origin, pages }) => {
      for (const fault of ['hangs', 'fails'] as const) {
        const { storage, control } = origin.openPage()
        const client = simulator.openClient(1)
        // A join would make it read everything.
        client.control.refuseJoins = control[fault] = true
        pages.push(openAs(simulator, 1, { ...withoutPolling, storage }, client))
      }
    }, 2000, ({ pages }) => {
      for (const { inbox, chat } of pages) expect([inbox.view.loaded, chat.view.messages.length]).toEqual([true, 3])
    }],
  ['it is shown with a token that has expired, which supabase-js cannot refresh without a network', inBrowser,
    1100, leave, offline, (scene) => {
      const client = scene.simulator.openClient(1)
      const storage = { getItem: () => JSON.stringify({ user: { id: 'account 1' } }) }
      Object.assign(client.auth, { storage, getSession: () => new Promise(() => {}) })
      Object.assign(scene, openAs(scene.simulator, 1, { storage: scene.origin.openPage().storage }, client))
    }, 1000, { isComplete: true, asOf: time, inbox: { loaded: true, asOf: time } }],
])

test('the newest 50 conversations are kept, and 50 messages of the 20 that were opened last', async () => {
  const values = new Map<string, unknown>()
  const storage = { get: (key: string) => values.get(key), set: values.set.bind(values), delete: values.delete }
  const open = () => openCache(new AbortController().signal, withTimeouts(storage as never), Promise.resolve('ana'))
  const cache = open()
  const both = { Voyager: { id: 1 }, Local: { id: 2 } }
  const conversations = Array.from({ length: 60 }, (_, place) => ({ id: place + 1, ...both, Messages: [] }))
  cache.setInbox({ me: { id: 1, name: 'Ana' }, conversations, unread: 0, asOf: null } as never, 'c')
  const messages = Array.from({ length: 80 }, (_, place) => ({ id: place, content: '' }))
  for (const { id } of conversations.slice(0, 20)) {
    cache.setPage({ id, messages, reservations: [], loaded: true, asOf: null } as never)
  }
  cache.open(1)
  cache.setPage({ id: 21, messages: [], reservations: [], loaded: true, asOf: null } as never)
  await advance(1100)
  const next = open()
  const loaded = await next.load()
  expect(loaded?.conversations.length).toBe(50)
  expect(next.open(1)).toMatchObject({ hasOlder: true, messages: messages.slice(-50), asOf: time })
  expect(conversations.filter(({ id }) => next.open(id)).map(({ id }) => id)).toEqual([
    1,
    ...Array.from({ length: 19 }, (_, place) => place + 3),
  ])
})
