// Messages that their sender corrects or takes back.
import { expect } from 'vitest'
import { block, closeChat, disconnect, hear, network, offline, playAll, type Scene } from './fixture.ts'
import { send, useFakeTime, withoutPolling } from './fixture.ts'
import { refusal } from './simulated_service.ts'

useFakeTime()

const open = { ...withoutPolling, resyncJitter: 0 }
const note = (answers: string[], change: Promise<unknown>) =>
  void change.then(
    (message) => answers.push((message as { content: string } | undefined)?.content ?? 'done'),
    ({ status, code }) => answers.push(`${status} ${code}`),
  )
const edit = (place: number, content: string) => ({ chat, table, answers }: Scene) =>
  note(answers, chat.edit(table.at(place)!.id, content))
const unsend = (place: number) => ({ chat, table, answers }: Scene) => note(answers, chat.unsend(table.at(place)!.id))
const bobEdits = (place: number) => ({ table, editMessage }: Scene) =>
  void editMessage(2, table.at(place)!.id, 'Better')
const bobUnsends = (place: number) => ({ table, unsendMessage }: Scene) => void unsendMessage(2, table.at(place)!.id)
const time = expect.stringMatching(/Z$/)

// deno-fmt-ignore
playAll([
  ['both see at once what is corrected and taken back, in conversation and list', { ...open, bob: true },
    send('Helo', 'Nonsense'), 1000, edit(0, 'Hello'), 100,
    { isComplete: true, messages: [{ content: 'Hello', editedAt: time }, {}], answers: ['Helo', 'Nonsense', 'Hello'] },
    { bob: { messages: [{ content: 'Hello', editedAt: time, deletedAt: null }, { content: 'Nonsense' }] } },
    unsend(1), 1000, { isComplete: true, messages: [{}, { content: '', deletedAt: time }] },
    { answers: ['Helo', 'Nonsense', 'Hello', 'done'] },
    { bob: { messages: [{}, { content: '', deletedAt: time }] } },
    ({ inbox }) => expect(inbox.view.conversations[0]!.Messages[0]).toMatchObject({ content: '', deletedAt: time })],
  ['what is taken back is not unread any more', { ...open, messages: 3 },
    { unread: 3 }, bobUnsends(2), 1000, { unread: 2, isComplete: true },
    ({ chat }) => chat.markRead(), 1000, { unread: 0, isComplete: true }],
  ['a refusal has its status and code, and changes nothing', { ...open, messages: 1 },
    send('Mine', 'Also'), 1000, edit(1, ' '), 100, edit(0, 'Not mine'), 100, unsend(0), 1000,
    { answers: ['Mine', 'Also', '400 invalid', '404 not_found', '404 not_found'], isComplete: true, error: null },
    unsend(1), 1000, edit(1, 'Too late'), 1000, block(2), edit(2, 'Blocked'), 1000, unsend(2), 1000,
    { isComplete: true },
    ({ answers }) => expect(answers.slice(5)).toEqual(['done', '409 conflict', '403 forbidden', 'done'])],
  ['without a network it is refused, and nothing changes', open,
    send('Mine'), 1000, offline, edit(0, 'Better'), unsend(0), 10_000,
    { answers: ['Mine', '0 offline', '0 offline'], isComplete: true, texts: ['Mine'] }],
  ['what the view has not heard of is shown where it is the reason of a refusal', open,
    send('Mine'), 1000, network({ eventLoss: 1 }), ({ table, unsendMessage }) => void unsendMessage(1, table[0]!.id),
    edit(0, 'Better'), 1000, { answers: ['Mine', '409 conflict'], isComplete: true, texts: [''] }],
  ['without an event it is shown within a minute, and after an absence as soon as the client is back',
    { resyncJitter: 0, messages: 3 },
    network({ eventLoss: 1 }), bobEdits(1), bobUnsends(2), 61_000,
    { isComplete: true, texts: ['Message 1', 'Better', ''] },
    disconnect, bobUnsends(0), hear('New'), 5000, { isComplete: true, unread: 2, status: 'live' }],
  ['what was sent just before its conversation was closed, and then taken back, is not shown again', open,
    send('Mine'), closeChat, 1000, ({ table, unsendMessage }) => void unsendMessage(1, table[0]!.id),
    (scene) => scene.chat = scene.inbox.open(7), { outgoing: [] }],
  ['an event that overtakes its commit is made up for', { ...open, messages: 3 },
    // It is read while the old text is still to be seen.
    ({ table, tell }) => tell([1], 'message.changed', { id: table[0]!.id, previous_id: null, user_id: 2 }), 1000,
    network({ eventLoss: 1 }), bobEdits(0), 5000, { isComplete: true }],
  ['a service of 1.0 knows none of it, and all else works', { ...open, messages: 3 },
    ({ service, server }) => {
      service.knowsStates = false
      server.intercept = (_, __, path) =>
        /messages.\d+$/.test(path) ? refusal('not_found', 'Not found') : null
    },
    send('Mine'), 1000, edit(3, 'Better'), unsend(3), 1000, { answers: ['Mine', '404 not_found', '404 not_found'] },
    hear('Next'), 1000, { texts: ['Message 1', 'Message 2', 'Message 3', 'Mine', 'Next'], status: 'live', error: null },
    ({ chat }) => expect(chat.view.messages.at(-1)).not.toHaveProperty('deletedAt')],
])
