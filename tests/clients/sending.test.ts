import { expect, test } from 'vitest'
import { advance, openFixture, useFakeTime } from './fixture.ts'

useFakeTime()

test('a message is shown as outgoing at once, and among the messages once it is stored', async () => {
  const { chat, table } = await openFixture()
  const answer = chat.send('Hello')
  expect(chat.view).toMatchObject({ messages: [], outgoing: [{ content: 'Hello', state: 'sending' }] })
  await advance(100)
  expect(chat.view).toMatchObject({ messages: [{ content: 'Hello' }], outgoing: [] })
  expect(await answer).toEqual(table[0])
})

test('two messages with the same text are always shown as two', async () => {
  const { chat, table } = await openFixture()
  const shown = new Set<number>()
  chat.send('Hi')
  chat.send('Hi')
  chat.subscribe(() => shown.add(chat.view.messages.length + chat.view.outgoing.length))
  await advance(1000)
  expect(chat.view).toMatchObject({ messages: table, outgoing: [] })
  expect([...shown]).toEqual([2])
})

test('a send whose response is lost is retried and stored once', async () => {
  const { chat, setNetwork, table, requestsWith } = await openFixture()
  setNetwork({ responseLoss: 1 })
  chat.send('Once')
  await advance(5000)
  setNetwork({ responseLoss: 0 })
  await advance(40_000)
  expect(requestsWith('1 POST conversations/7/messages').length).toBeGreaterThan(2)
  expect(table).toHaveLength(1)
  expect(chat.view).toMatchObject({ messages: [{ content: 'Once' }], outgoing: [] })
})

test('a request that hangs times out and is retried', async () => {
  const { chat, setNetwork, table } = await openFixture({ timeout: 2000 })
  setNetwork({ latency: 1e9 })
  chat.send('Slow')
  await advance(2500)
  expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 0 } }])
  setNetwork({ latency: 5 })
  await advance(5000)
  expect(table).toHaveLength(1)
  expect(chat.view.outgoing).toEqual([])
})

test('after a 429 the message waits for as long as Retry-After says', async () => {
  const { chat, server, setNetwork, table } = await openFixture()
  setNetwork({ overload: 1 })
  server.retryAfter = 20
  chat.send('Patience')
  await advance(100)
  setNetwork({ overload: 0 })
  await advance(19_000)
  expect(table).toHaveLength(0)
  expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 429 } }])
  await advance(12_000)
  expect(table).toHaveLength(1)
})

test('messages are sent in the order in which they were written, even if the first has to wait', async () => {
  const { chat, setNetwork, table } = await openFixture()
  setNetwork({ requestLoss: 1 })
  for (const content of ['One', 'Two', 'Three']) chat.send(content)
  await advance(1000)
  setNetwork({ requestLoss: 0 })
  await advance(10_000)
  expect(table.map(({ content }) => content)).toEqual(['One', 'Two', 'Three'])
})

test('a refused message is final and does not block the next; it can be retried or discarded', async () => {
  const { chat, table, requestsWith } = await openFixture()
  const answer = chat.send('rude')
  chat.send('Sorry')
  await advance(5000)
  await expect(answer).rejects.toMatchObject({ status: 403, message: 'You cannot write to this person' })
  expect(chat.view.outgoing).toMatchObject([{ content: 'rude', state: 'refused', error: { status: 403 } }])
  expect(table.map(({ content }) => content)).toEqual(['Sorry'])
  const { client_id } = chat.view.outgoing[0]!
  chat.retry(client_id)
  await advance(5000)
  expect(requestsWith('1 POST')).toHaveLength(3)
  expect(chat.view.outgoing).toMatchObject([{ state: 'refused' }])
  chat.discard(client_id)
  expect(chat.view.outgoing).toEqual([])
})

test('sending continues after the conversation is closed, and is shown when it is opened again', async () => {
  const { inbox, chat, setNetwork, table, conversation } = await openFixture()
  setNetwork({ requestLoss: 1 })
  chat.send('Later')
  chat.close()
  await advance(1000)
  expect(inbox.open(conversation).view.outgoing).toMatchObject([{ content: 'Later', state: 'waiting' }])
  setNetwork({ requestLoss: 0 })
  await advance(5000)
  expect(table).toHaveLength(1)
})

test('a message that a firewall always blocks can be discarded, and the next ones are sent', async () => {
  const { chat, server, table, requestsWith } = await openFixture()
  const forbidden = () => new Response('<h1>Forbidden</h1>', { status: 403, headers: { 'Content-Type': 'text/html' } })
  server.intercept = (_, body) => body.includes('drop table') ? forbidden() : null
  const answer = chat.send('How do I drop table rows?')
  for (const content of ['Never mind', 'Never tried', 'Hello']) chat.send(content)
  await advance(100)
  const [waiting, , untried] = chat.view.outgoing
  expect(waiting).toMatchObject({ state: 'waiting', error: { status: 0 } })
  chat.discard(untried!.client_id)
  chat.discard(waiting!.client_id)
  await expect(answer).rejects.toThrow('Discarded')
  await advance(100)
  expect(table.map(({ content }) => content)).toEqual(['Never mind', 'Hello'])
  expect(chat.view).toMatchObject({ messages: table, outgoing: [] })
  await advance(100_000)
  expect(requestsWith('1 POST')).toHaveLength(2)
})

test('discarding a waiting message does not shorten the Retry-After', async () => {
  const { chat, server, setNetwork, table, requestsWith } = await openFixture()
  setNetwork({ overload: 1 })
  server.retryAfter = 20
  chat.send('Patience')
  chat.send('Later')
  await advance(100)
  setNetwork({ overload: 0 })
  chat.discard(chat.view.outgoing[0]!.client_id)
  await advance(19_000)
  expect(requestsWith('1 POST')).toHaveLength(1)
  await advance(12_000)
  expect(table.map(({ content }) => content)).toEqual(['Later'])
})

test('a message discarded while its request is in flight is sent if the request succeeds', async () => {
  const { chat, setNetwork, table } = await openFixture()
  setNetwork({ latency: 1000 })
  const answer = chat.send('In flight')
  await advance(1)
  chat.discard(chat.view.outgoing[0]!.client_id)
  expect(chat.view.outgoing).toMatchObject([{ state: 'sending' }])
  await advance(10_000)
  expect(await answer).toEqual(table[0])
  expect(chat.view).toMatchObject({ messages: [{ content: 'In flight' }], outgoing: [] })
  expect(table).toHaveLength(1)
})

test.each([
  ['fails', 'Lost', { requestLoss: 1 }],
  ['is refused', 'rude', {}],
])('a message discarded while its request is in flight is removed if the request %s', async (_, content, faults) => {
  const { chat, setNetwork, table } = await openFixture()
  setNetwork(faults)
  const answer = chat.send(content)
  chat.send('Sorry')
  chat.discard(chat.view.outgoing[0]!.client_id)
  await expect(Promise.all([answer, advance(100)])).rejects.toThrow('Discarded')
  expect(chat.view.outgoing.map(({ content }) => content)).not.toContain(content)
  setNetwork({ requestLoss: 0 })
  await advance(5000)
  expect(table.map(({ content }) => content)).toEqual(['Sorry'])
  expect(chat.view.outgoing).toEqual([])
})

test('discarding does not recall a message that was stored but whose response was lost', async () => {
  const { chat, setNetwork, table, requestsWith } = await openFixture()
  setNetwork({ responseLoss: 1 })
  const answer = chat.send('Once')
  const { client_id } = chat.view.outgoing[0]!
  await advance(100)
  expect(table).toHaveLength(1)
  chat.discard(client_id)
  await expect(answer).rejects.toThrow('Discarded')
  setNetwork({ responseLoss: 0 })
  await advance(40_000)
  expect(requestsWith('1 POST')).toHaveLength(1)
  expect(chat.view).toMatchObject({ messages: [{ content: 'Once' }], outgoing: [], status: 'live' })
})
