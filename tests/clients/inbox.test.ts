import { expect, test, vi } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { advance, block, closeChat, forget, hear, intercept, leave, markRead, network, openAs } from './fixture.ts'
import { openFixture, playAll, repeat, type Row, type Scene, send, useFakeTime, withoutPolling } from './fixture.ts'
import { refusal } from './simulated_service.ts'

useFakeTime()

/** Which connections were ended: 0 is the client's own, 1 that of typing. */
const ended = (...connections: number[]) => ({ client: { log } }: Scene) =>
  expect(log.filter((line) => line.startsWith('disconnect')).toSorted()).toEqual(
    connections.map((n) => `disconnect ${n}`),
  )
const noTimers = () => expect(vi.getTimerCount()).toBe(0)
const warn = vi.spyOn(process, 'emitWarning')

// deno-fmt-ignore
playAll([
  ['the list holds conversations with unread counts and follows events', { messages: 3 },
    { inbox: { me: { id: 1, name: 'Ana' }, unread: 3, loaded: true, status: 'live', error: null } },
    hear('Are you there?'), 1000, ({ inbox, table }) => expect(inbox.view.conversations)
      .toMatchObject([{ id: 7, unread: 4, Messages: [{ id: table[3]!.id, content: 'Are you there?' }] }]),
    { unread: 4 }],
  ['Node warns of no leak, whatever is open', {},
    ({ inbox }) => { for (const id of Array(20).keys()) inbox.open(id) }, 100, () => expect(`${warn.mock.calls}`).not.toContain('MaxListeners')],
  ['the list is throttled: a hundred events cause a few reads', {},
    repeat(100, hear('Hello'), 10), 2000, { unread: 100 },
    ({ requestsWith }) => expect(requestsWith('1 GET conversations/unread').length).toBeLessThan(6)],
  ['a block counts while the list fails, and the list is shown while blocks fail', withoutPolling,
    intercept((_, __, path) => path === 'conversations' ? refusal('unavailable', 'Busy') : null), hear('Hello'), 60_000,
    block(1), 100, { blocked: true, topics: ['user:1'] },
    intercept((_, __, path) => /blocks/.test(path) ? refusal('unavailable', 'Busy') : null), block(1, false), 60_000,
    { unread: 1, blocked: true }, intercept(null), 60_000, { blocked: false, inbox: { status: 'live' } }],
  ...[null, { conversation_id: 7, id: 'x' }].map((payload): Row => [
    `an event with ${JSON.stringify(payload)} does nothing`, withoutPolling,
    ({ deliver }) => deliver('user:1', 'message.created', payload), 5000, { inbox: { status: 'live' } },
    hear('Hello'), 5000, { isComplete: true, status: 'live' }]),
  ['openWith returns the existing conversation with a user', {},
    async ({ inbox }) => expect((await Promise.all([inbox.openWith(2), advance(100)]))[0].id).toBe(7)],

  ['closing leaves no channel, timer, listener or request, and rejects pending promises', { messages: 60 },
    network({ latency: 1000 }), send('Too late'), markRead,
    ({ chat, seen, inbox }) => {
      chat.older().catch(({ status }) => seen.add(`older ${status}`))
      inbox.close()
      for (const one of [chat, inbox]) one.subscribe(() => seen.add('a change'))
    },
    // supabase-js takes up to ten seconds to disconnect.
    15_000, { topics: [], answers: ['0 Closed before it was answered'], seen: ['older 0'] }, noTimers,
    ({ client }) => expect(client.hasAuthListener).toBe(false), forget, 300_000, { requests: [] }],
  ['closing right after opening leaves no channel or timer', {},
    leave, 60_000, (scene) => Object.assign(scene, openAs(scene.simulator, 1)), leave, 60_000, noTimers,
    { topics: [] }],
  ['closing a conversation ends the connection for typing, and closing the inbox the other',
    {}, closeChat, 1000, { topics: ['user:1'] }, ended(1), leave, 1000, { topics: [] }, ended(0, 1)],
  ['a connection that is not open yet is left to supabase-js', {},
    ({ client }) => client.control.isConnecting = true, leave, 1000, { topics: [] }, ended()],
  ['the connection stays for a channel of the page', {},
    ({ client }) => client.realtime.channel('own', {}), leave, 1000, { topics: ['own'] }, ended(1)],
  ...[0, 30, 100].map((pause): Row => [`an inbox opened ${pause} ms after the last one joins at once`, {},
    leave, pause, (scene) => Object.assign(scene, openAs(scene.simulator, 1, withoutPolling, scene.client)),
    2000, { inbox: { status: 'live' } }, hear('Hello again'), 100, { isComplete: true, texts: ['Hello again'] }]),
  ['a client can have one inbox at a time', {},
    ({ client }) => expect(() => openInbox(client)).toThrow('close that one first'),
    leave, ({ client }) => openInbox(client).close()],
])

test('an error thrown by a listener is reported as uncaught and does not affect other listeners', async () => {
  const { chat, insertMessage, table } = await openFixture()
  const uncaught: unknown[] = []
  const original = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => void uncaught.push(error))
  chat.subscribe(() => {
    throw new Error('A bug in the page')
  })
  let calls = 0
  chat.subscribe(() => calls++)
  insertMessage(2, { content: 'Hello' })
  await advance(100)
  process.removeAllListeners('uncaughtException')
  for (const listener of original) process.on('uncaughtException', listener)
  expect(chat.view.messages).toEqual(table)
  expect(calls).toBeGreaterThan(0)
  expect(uncaught[0]).toMatchObject({ message: 'A bug in the page' })
})
