import { expect } from 'vitest'
import { advance, block, closeChat, disconnect, forget, hear, intercept, markRead } from './fixture.ts'
import { network, offline, older, openAs, playAll, repeat, type Row, type Scene, send, useFakeTime } from './fixture.ts'
import { watch, withoutPolling } from './fixture.ts'
import { refusal } from './simulated_service.ts'

useFakeTime()

const untilResync = { ...withoutPolling, resyncJitter: 0 }
const idAt = (place: number) => ({ table }: Scene) => table.at(place)!.id
/** The event of a message, which may come late, twice, or after the message was removed. */
const tell = (message: (scene: Scene) => number, previous: (scene: Scene) => number | null) => (scene: Scene) =>
  scene.tell([1], 'message.created', { id: message(scene), previous_id: previous(scene), user_id: 2 })
const correct = (place: number) => ({ table, correctMessage }: Scene) => correctMessage(table[place]!, 'Corrected')
const remove = (place: number) => ({ table, removeMessage }: Scene) => removeMessage(table.at(place)!)
const sendElsewhere = ({ insertMessage }: Scene) => void insertMessage(1, { content: 'Elsewhere' })
const bobMarks = (place: number) => ({ table, markRead }: Scene) => markRead(2, table[place]!.id)
const reads = (text: string, count: number) => ({ requestsWith }: Scene) =>
  expect(requestsWith(text)).toHaveLength(count)
const isAsked = (text: string) => async ({ requestsWith }: Scene) => {
  while (!requestsWith(text).length) await advance(10)
}
const showsLast = (count: number) => ({ chat, table }: Scene) => expect(chat.view.messages).toEqual(table.slice(-count))
const allAreRead = ({ table }: Scene) => expect(table.every(({ read }) => read)).toBe(true)
const readBesideChanges = ({ requests }: Scene) => requests.filter((request) => !request.includes('changes')).toSorted()
const jazz = { id: 3, title: 'Jazz evening', price: 12.5, date: '', ends_at: null, revision: 1, offered_by: 2 }
const over = { ...jazz, id: 2, status: 'declined' }
const offer = (fields = {}) => ({ changeReservation }: Scene) =>
  changeReservation({ ...jazz, status: 'pending', ...fields })

// deno-fmt-ignore
playAll([
  ['opens with the newest messages, oldest first, and loads older pages', { messages: 120 },
    showsLast(50), { hasOlder: true, loaded: true, status: 'live', other: { id: 2, name: 'Bob' } },
    older, older, 100, showsLast(100), older, 100, { isComplete: true, hasOlder: false }],
  ['shows a new message within milliseconds, with one request', { messages: 3 },
    hear('Now'), 20, { isComplete: true },
    ({ requestsWith, table }) =>
      expect(requestsWith('messages')).toEqual([`1 GET conversations/7/messages?after_id=${table[2]!.id}&limit=100&states=true`])],
  ['sends one request for an event that arrives twice, and none for a message that is shown already', { messages: 3 },
    network({ eventDuplication: 1, eventDelay: 0, latency: 100 }), hear('Now'), 1000, reads('messages', 1),
    forget, tell(idAt(1), idAt(0)), 1000, reads('messages', 0)],
  ['is "catching up" from the event that reveals a gap until the gap is filled', { messages: 3 },
    watch(({ chat: { view } }) => `${view.messages.length} ${view.status}`),
    network({ eventLoss: 1 }), hear('Lost'), network(), 1000, ({ chat }) => expect(chat.view.messages).toHaveLength(3),
    hear('Delivered'), 100, { isComplete: true, seen: ['3 catching up', '5 catching up', '5 live'] }],
  ...([['next', idAt(-1)], ['after a gap', () => 998]] as const).map(([where, previous]): Row => [
    `an event of a message that was removed before it was read adds nothing and is forgotten (${where})`,
    { ...withoutPolling, messages: 3 },
    tell(() => 999, previous), 5000, { isComplete: true, status: 'live' },
    forget, tell(() => 999, previous), 5000, reads('messages', 0)]),
  ['shows reservations, their changes, and what the user can do about them', {},
    { reservations: [] }, offer(over), offer(), 100,
    { reservations: [{ ...over, can: [] }, { ...jazz, can: ['accept', 'decline', 'change', 'cancel'] }] },
    offer({ offered_by: 1 }), 100, { reservations: [{}, { can: ['change', 'cancel'] }] },
    offer({ status: 'accepted' }), 100, { reservations: [{}, { can: ['cancel'] }] },
    // What has ended is read once.
    reads('reservations/2', 1),
    offer(), 100, block(1), 1000, { reservations: [{}, { status: 'pending', can: ['cancel'] }] }],
  ['an unknown conversation shows the 404 as its error', {},
    (scene) => scene.chat = scene.inbox.open(8), 1000,
    { loaded: false, error: { status: 404, message: 'Conversation not found' } }],
  ['opened twice, a conversation shares its view and channels until it is closed twice', {},
    (scene) => {
      const { chat } = scene
      scene.chat = scene.inbox.open(7)
      expect(scene.chat.view).toBe(chat.view)
      chat.close()
      chat.close()
    },
    hear('Still here?'), 1000, { texts: ['Still here?'], topics: ['user:1', 'typing:7'] },
    closeChat, 1000, { topics: ['user:1'] }],

  ['all shown messages are marked in one request, and the unread count follows, also without an event',
    { ...withoutPolling, messages: 3 },
    network({ eventLoss: 1 }), markRead, markRead, 1000, { readMarks: [true, true, true], unread: 0 },
    markRead, 1000, { isComplete: true, markers: 1, posts: 0 }],
  ['one message.read event updates every message up to its id', {},
    repeat(5, sendElsewhere), 100, bobMarks(3), 100, { readMarks: [true, true, true, true, false] }],
  ['a marker set while its message is still being fetched is not missed', {},
    network({ latency: 400, eventDelay: 0 }), sendElsewhere, 390, bobMarks(0), 2000, { readMarks: [true] }],
  ['a marker is sent even if the conversation is closed at once, and shown where it is opened again',
    { ...withoutPolling, messages: 3 },
    network({ latency: 400 }), markRead, closeChat, (scene) => scene.chat = scene.inbox.open(7), 5000,
    allAreRead, { readMarks: [true, true, true], unread: 0, markers: 1 }],
  ['after a failure only the furthest marker is retried, also when the conversation was closed',
    { ...withoutPolling, messages: 3 },
    offline, ({ chat, table }) => chat.markRead(table[0]!.id), 100, markRead, closeChat,
    (scene) => scene.chat = scene.inbox.open(7), ({ chat, table }) => chat.markRead(table[1]!.id), closeChat, 1000,
    network(), 10_000, allAreRead, { unread: 0, markers: 1 }],
  ['a conversation that is closed while it reads hides nothing in the next one', { messages: 1 },
    ['1', '2', '3', '4', '5', '6', '7', '8'].map((text) => [
      network({ latency: 400 }), hear('Hello'), 20, closeChat, (scene: Scene) => scene.chat = scene.inbox.open(7),
      1, network(), send(text),
      watch(({ chat: { view } }) => [...view.messages, ...view.outgoing].some(({ content }) => content === text)),
      2000]),
    { isComplete: true, seen: [true] }],
  ['and reads no further', { ...untilResync, messages: 1 }, disconnect, hear(...Array<string>(300).fill('Hello')),
    ({ chat }) => void chat.subscribe(() => chat.view.messages[1] && chat.close()), 20_000, reads('after_id', 1)],
  ['a refused marker is not retried', { poll: [1000, 1000], messages: 3 },
    intercept((method) => method === 'POST' ? refusal('forbidden', 'No') : null), markRead, 1000, markRead, 30_000,
    { intercepted: 1, markers: 0 }],
  ['after an absence in which nothing happened, one request brings everything up to date',
    { ...untilResync, messages: 3 },
    disconnect, 5000,
    { requests: ['1 GET conversations/changes?limit=100&after=c3'], status: 'live', inbox: { status: 'live' } }],
  ['after an absence only what has changed is read', { ...untilResync, messages: 3 },
    disconnect, hear('Missed'), 5000, (scene) => expect(readBesideChanges(scene)).toEqual([
      expect.stringMatching(/messages\?after_id/), '1 GET conversations/unread',
      '1 GET conversations?partner=true&states=true',
    ]),
    { isComplete: true, status: 'live', inbox: { status: 'live' } },
    forget, disconnect, offer(), 5000, (scene) =>
      expect(readBesideChanges(scene)).toEqual(['1 GET conversations/7', '1 GET conversations/7/reservations/3']),
    { reservations: [{ id: 3 }] },
    disconnect, ({ table, markRead }) => markRead(1, table[3]!.id), 5000, { unread: 0, isComplete: true }],
  ['what an admin does to a message that is shown arrives within a minute', { messages: 20 },
    correct(4), remove(19), remove(0), ({ chat }) => expect(chat.view.messages).toHaveLength(20),
    61_000, { isComplete: true, texts: expect.arrayContaining(['Corrected']) },
    ({ inbox, table }) => expect(inbox.view.conversations[0]!.Messages[0]!.id).toBe(table.at(-1)!.id),
    // The next message is shown as ever.
    hear('Next'), 100, { isComplete: true }],
  ['what happens to messages that are not loaded yet costs nothing, and they are right when they are',
    { messages: 120 },
    correct(4), remove(0), ({ table, unsendMessage }) => void unsendMessage(2, table[7]!.id), 61_000,
    reads('messages?after_id', 0), older, 100, older, 100, { isComplete: true }],
  ['what an admin does while older messages are on their way is not undone by them', { ...untilResync, messages: 120 },
    // The request has been answered, and the answer is under way.
    network({ latency: 3000 }), older, isAsked('before_id'), correct(30), remove(40),
    network({ latency: 1 }), disconnect, 20_000,
    ({ chat }) => expect(chat.view.messages.length).toBeGreaterThan(90),
    (scene) => showsLast(scene.chat.view.messages.length)(scene)],
  ['an admin who removes all that is shown leaves what was before it', { messages: 120 },
    repeat(50, remove(-1)), 61_000, showsLast(50), { hasOlder: true }],
  ['a cursor that is not valid any more makes the client read everything anew', { ...untilResync, messages: 120 },
    older, 100, disconnect,
    // As after a restore: nothing tells what is gone.
    ({ table, service }) => (table.splice(60, 50), service.oldestCursor = Infinity), 5000,
    reads('changes', 2), showsLast(50), { hasOlder: true, status: 'live', inbox: { status: 'live', error: null } }],
  ['after a restore new messages are shown at once, also if one from before it was still being read',
    { ...untilResync, messages: 1 }, network({ latency: 5000 }), hear('Lost'), isAsked('messages?after_id'), network(),
    disconnect, ({ table, service }) => (table.pop(), service.oldestCursor = Infinity), 9000,
    ({ table: [one], table }) => table.push({ ...one!, id: one!.id + 1 }), tell(idAt(1), idAt(0)), 100, showsLast(2)],
  ['a cursor is never that of somebody else: each inbox starts with its own', { messages: 3 },
    ({ simulator }) => void openAs(simulator, 2), 1000, ({ requestsWith }) =>
      expect(requestsWith('2 GET conversations/changes')[0]).toBe('2 GET conversations/changes?limit=100')],
])
