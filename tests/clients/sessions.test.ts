import { expect, test } from 'vitest'
import { openInbox, type Options } from '../../clients/inbox.ts'
import { onFakeTime, pass } from './at_rest.ts'
import { openWorld } from './world.ts'

onFakeTime()

/** Ana's inbox with a conversation open, on a client that others can sign in on. */
const atHome = async (options?: Options) => {
  const ocean = openWorld()
  const client = ocean.openClient(1)
  const inbox = openInbox(ocean.asClient(client), options)
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  ocean.requests.length = 0
  return { ...ocean, client, inbox, chat }
}

test('somebody else who signs in closes the inbox, and can open their own', async () => {
  const { inbox, client, asClient, conversation, requests } = await atHome()
  client.signIn(2)
  expect(() => inbox.open(conversation)).toThrow('closed')
  await pass(60_000)
  expect({ requests, channels: client.channels, view: inbox.view.me }).toEqual({
    requests: [],
    channels: [],
    view: { id: 1, name: 'Ana' },
  })
  const other = openInbox(asClient(client))
  await pass(1000)
  expect(other.view).toMatchObject({ me: { id: 2, name: 'Bob' }, status: 'live' })
  other.close()
})

test('the same person who signs in again, as auth says at every look at the page, keeps the inbox', async () => {
  const { inbox, chat, client, table } = await atHome()
  client.signIn(1)
  chat.send('Still me')
  await pass(1000)
  expect([inbox.view.status, chat.view.status]).toEqual(['live', 'live'])
  expect(table).toMatchObject([{ user_id: 1, content: 'Still me' }])
  inbox.close()
})

test('what waits to be sent is never sent in the name of whoever signs in after', async () => {
  const { chat, client, world, requests, table } = await atHome()
  world.weather = { ...world.weather, unsent: 1 }
  const answer = chat.send('From Ana')
  await pass(1000)
  client.signIn(2)
  world.weather = { ...world.weather, unsent: 0 }
  await pass(60_000)
  await expect(answer).rejects.toMatchObject({ status: 0 })
  expect({ table, requests }).toEqual({ table: [], requests: [] })
})

// Tabs share what is stored, and tell each other a moment later.
test('nor where another tab changed the session, and no event has come yet', async () => {
  const { inbox, chat, client, requests, table } = await atHome()
  client.signIn(2, true)
  const answer = chat.send('From Ana')
  chat.typing()
  await pass(60_000)
  await expect(answer).rejects.toThrow()
  expect({ table, requests }).toEqual({ table: [], requests: [] })
  expect(() => inbox.open(7)).toThrow('closed')
  expect(client.channels).toEqual([])
})

test('nor while a token is being refreshed', async () => {
  const { chat, client, world, requests, table } = await atHome({ poll: [1e8, 1e9] })
  world.expired = true
  world.weather = { ...world.weather, slowness: 100 }
  const answer = chat.send('From Ana')
  while (!client.log.includes('refreshSession')) await pass(1)
  client.signIn(2, true)
  await pass(60_000)
  await expect(answer).rejects.toThrow()
  expect(table).toEqual([])
  expect(requests.filter((request) => request.startsWith('2'))).toEqual([])
})

test('many requests that learn late that the token had expired do not refresh it again', async () => {
  const { inbox, chat, client, world } = await atHome({ poll: [1e8, 1e9] })
  world.expired = true
  world.weather = { ...world.weather, slowness: 3000 }
  chat.send('One')
  for (let count = 0; count < 8; count++) {
    inbox.openWith(2).catch(() => {})
    await pass(500)
  }
  await pass(30_000)
  expect(client.log.filter((line) => line === 'refreshSession')).toHaveLength(1)
  inbox.close()
})

test('who is not signed in is told so, and asks nothing of the service', async () => {
  const { openClient, asClient, requests, conversation } = openWorld()
  const client = openClient(1)
  client.signOut()
  const inbox = openInbox(asClient(client))
  const answer = inbox.open(conversation).send('Hello?')
  await pass(1000)
  await expect(answer).rejects.toMatchObject({ status: 401, message: 'Nobody is signed in' })
  expect(inbox.view).toMatchObject({ status: 'offline', problem: { status: 401 } })
  expect(requests).toEqual([])
  inbox.close()
})
