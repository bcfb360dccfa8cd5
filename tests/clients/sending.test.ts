import { expect } from 'vitest'
import { blank, closeChat, discard, disconnect, intercept, network, offline, overload, playAll } from './fixture.ts'
import { refusal, repeat, type Row, send, useFakeTime, watch } from './fixture.ts'

useFakeTime()

const forbidden = (_: string, body: string) =>
  body.includes('drop table') ? new Response('<h1>Forbidden</h1>', { status: 403 }) : null

// deno-fmt-ignore
playAll([
  ['a message is shown as outgoing at once, and among the messages once it is stored', {},
    send('Hello'), { messages: [], outgoing: [{ content: 'Hello', state: 'sending' }] },
    100, { isComplete: true, texts: ['Hello'], outgoing: [], answers: ['Hello'] }],
  ['a message is sent whatever a listener does when it is shown', {},
    ({ chat }) => void chat.subscribe(() => {
      chat.setDraft(`${chat.view.outgoing.length}`)
      chat.markRead()
    }),
    send('Hello'), 1000, { isComplete: true, texts: ['Hello'], outgoing: [], answers: ['Hello'] }],
  ['two messages with the same text are always shown as two', {},
    send('Hi', 'Hi'), watch(({ chat: { view } }) => view.messages.length + view.outgoing.length),
    1000, { isComplete: true, outgoing: [], seen: [2] }],
  ['a send whose response is lost is retried and stored once', {},
    network({ responseLoss: 1 }), send('Once'), 5000, network(), 40_000,
    ({ requestsWith }) => expect(requestsWith('1 POST conversations/7/messages').length).toBeGreaterThan(2),
    { stored: ['Once'], texts: ['Once'], outgoing: [] }],
  ['a request that hangs times out and is retried', { timeout: 2000 },
    network({ latency: 1e9 }), send('Slow'), 2500, { outgoing: [{ state: 'waiting', error: { status: 0 } }] },
    network(), 5000, { stored: ['Slow'], outgoing: [] }],
  ['after a 429 a message waits for as long as Retry-After says, whatever is discarded or joined again meanwhile', {},
    overload(20), send('Patience', 'Later'), 100, network(),
    { outgoing: [{ state: 'waiting', error: { status: 429 } }, {}] },
    discard(), repeat(18, disconnect, 1000), { posts: 1, stored: [] }, 20_000, { stored: ['Later'], outgoing: [] }],
  ['messages are sent in the order in which they were written, even if the first has to wait', {},
    offline, send('One', 'Two', 'Three'), 1000, network(), 10_000, { stored: ['One', 'Two', 'Three'] }],
  ['a refused message is final and does not block the next', {},
    send(blank, 'Sorry'), 5000,
    { answers: [`400 ${refusal.message}`, 'Sorry'], outgoing: [{ content: blank, state: 'refused', error: refusal }] },
    { stored: ['Sorry'], posts: 2 }, discard(), { outgoing: [] }],
  ['sending continues after the conversation is closed, and is shown when it is opened again', {},
    offline, send('Later'), closeChat, 1000,
    (scene) => scene.chat = scene.inbox.open(7), { outgoing: [{ content: 'Later', state: 'waiting' }] },
    network(), 5000, { stored: ['Later'] }],
  ['a message that a firewall always blocks can be discarded, and the next ones are sent', {},
    intercept(forbidden), send('How do I drop table rows?', 'Never mind', 'Never tried', 'Hello'), 100,
    { outgoing: [{ state: 'waiting', error: { status: 0 } }, {}, {}, {}] },
    discard(2), discard(0), 100, { answers: ['0 Discarded', 'Never mind', '0 Discarded', 'Hello'] },
    { stored: ['Never mind', 'Hello'], isComplete: true, outgoing: [] }, 100_000, { posts: 2 }],
  ['a message discarded while its request is in flight is sent if the request succeeds', {},
    network({ latency: 1000 }), send('In flight'), 1, discard(), { outgoing: [{ state: 'sending' }] },
    10_000, { answers: ['In flight'], isComplete: true, stored: ['In flight'], outgoing: [] }],
  ...['Lost', blank].map((text): Row => [
    `a message discarded while its request is in flight is removed if the request fails (${text})`, {},
    text === 'Lost' ? offline : network(), send(text, 'Sorry'), discard(),
    100, ({ chat }) => expect(chat.view.outgoing.map(({ content }) => content)).not.toContain(text),
    network(), 5000, { answers: ['0 Discarded', 'Sorry'], stored: ['Sorry'], outgoing: [] }]),
  ['discarding does not recall a message that was stored but whose response was lost', {},
    network({ responseLoss: 1 }), send('Once'), 100, { stored: ['Once'] }, discard(), 1, { answers: ['0 Discarded'] },
    network(), 40_000, { posts: 1, texts: ['Once'], isComplete: true, outgoing: [], status: 'live' }],
])
