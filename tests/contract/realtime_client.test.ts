// Our client on our own Realtime, or on Supabase's where tests/platform/realtime supplies it, which alone waits, has
// outages and holds up connections. What the client does then, and when, is in tests/clients/delivery.test.ts.
import { expect, inject, test } from 'vitest'
import { openBoth, openInboxOf, timeToShow, watchMissing } from '../clients/real_inbox.ts'
import { openConversation, openPair, sendMessage, signUp } from '../tools/people.ts'
import { until } from '../tools/wait.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** POST /outage interrupts replication; /TERM and /KILL restart the server. Of Supabase's server alone. */
    realtimeControl: string
  }
}
const control = inject('realtimeControl')
const onSupabases = test.runIf(control)
const tellServer = (what: string) => fetch(`${control}/${what}`, { method: 'POST' })

// Without what the tests are about a message waits for a poll: half a minute and more.
const soon = 15_000

onSupabases.each(['TERM', 'KILL'])('a message sent right after the join is shown soon, after %s', async (signal) => {
  const { ana, ben, conversation } = await openPair()
  await tellServer(signal)
  const { inbox } = await openInboxOf(ana)
  const chat = inbox.open(conversation)
  await until(() => inbox.view.status !== 'offline')
  expect(await timeToShow(ben, chat, 'The first')).toBeLessThan(soon)
  await until(() => chat.view.status === 'live')
})

test('whoever only listens is shown each message, although events overtake commits', async () => {
  const { ben, conversation, anas: { chat } } = await openBoth({ poll: [1e8, 1e9] })
  const { longest, add } = watchMissing(chat)
  for (let count = 1; count <= 20; count++) {
    add(await sendMessage(ben, conversation, `Message ${count}`))
    // The next one must not reveal it.
    await until(() => chat.view.messages.length === count)
  }
  expect(longest.missing).toBeLessThan(soon)
})

onSupabases("a typing topic that is refused holds up nobody else's messages", async () => {
  const { ana, ben, conversation } = await openPair()
  const carl = await signUp('Carl')
  const withCarl = await openConversation(carl, ben)
  expect((await ana.call('PUT', `/users/me/blocks/${ben.id}`)).status).toBe(204)
  const { inbox, loss } = await openInboxOf(ben)
  const chat = inbox.open(withCarl)
  await until(() => chat.view.status === 'live' && chat.view.loaded)
  inbox.open(conversation)
  const before = loss.delivered
  let [sent, delivered] = [0, 0]
  while (loss.refusals === 0) {
    delivered = loss.delivered - before
    await timeToShow(carl, chat, `Message ${sent++}`)
  }
  // On the connection of the join no event would come before it is refused, which takes five seconds.
  expect(delivered).toBeGreaterThanOrEqual(sent - 2)
})

onSupabases('of five typing topics that are refused each is joined once', async () => {
  const ben = await signUp('Ben')
  const others = await Promise.all(Array.from({ length: 5 }, (_, n) => signUp(`Other ${n}`)))
  const { inbox, loss } = await openInboxOf(ben)
  for (const other of others) {
    const conversation = await openConversation(other, ben)
    await other.call('PUT', `/users/me/blocks/${ben.id}`)
    inbox.open(conversation)
  }
  await until(() => loss.refusals === 5)
  expect(loss.typingJoins).toBe(5)
})

onSupabases('during an outage of replication the status is delayed, messages come soon, and none is lost', async () => {
  const { ben, conversation, anas, bens } = await openBoth()
  await tellServer('outage')
  const texts: string[] = []
  const areAll = (status: string) => anas.inbox.view.status === status && anas.chat.view.status === status
  // The outage may begin after the first of them has gone through.
  for (let count = 0; !areAll('delayed') && count < 3; count++) {
    texts.push(`Can you hear me? ${count}`)
    await anas.chat.send(texts[count]!)
    await until(() => areAll('delayed'), 10).catch(() => {})
  }
  expect(areAll('delayed')).toBe(true)
  for (let count = 0; count < 3; count++) {
    texts.push(`Answer ${count}`)
    expect(await timeToShow(ben, anas.chat, texts.at(-1)!)).toBeLessThan(soon)
  }
  // It ends by itself.
  for (let count = 0; !areAll('live') && count < 60; count++) {
    texts.push(`Now ${count}`)
    await sendMessage(ben, conversation, texts.at(-1)!)
    await until(() => areAll('live'), 1).catch(() => {})
  }
  expect(areAll('live')).toBe(true)
  await until(() => [anas, bens].every(({ chat }) => chat.view.messages.length === texts.length))
  expect(anas.chat.view.messages.map(({ content }) => content)).toEqual(texts)
})

test('in our client typing ends with a block, and works again after it is removed', async () => {
  const { ana, ben, conversation, anas, bens } = await openBoth()
  const typing = setInterval(() => bens.chat.typing(), 100)
  try {
    await until(() => anas.chat.view.typing)
    expect((await ana.call('PUT', `/users/me/blocks/${ben.id}`)).status).toBe(204)
    await until(() => !anas.chat.view.typing)
    expect((await ana.call('DELETE', `/users/me/blocks/${ben.id}`)).status).toBe(204)
    // Ben's client was refused, so it waits for minutes, or for a sign that the block has gone.
    await sendMessage(ana, conversation, 'Hello again')
    await until(() => anas.chat.view.typing)
    expect(bens.chat.view.messages).toMatchObject([{ content: 'Hello again' }])
  } finally {
    clearInterval(typing)
  }
})
