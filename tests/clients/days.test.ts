import { expect, test } from 'vitest'
import { openInbox, type Options } from '../../clients/inbox.ts'
import { onFakeTime, pass } from './at_rest.ts'
import { openWorld } from './world.ts'

onFakeTime()

const open = async (options: Options = { poll: [1e8, 1e9] }, seed = 1) => {
  const ocean = openWorld(seed)
  const client = ocean.openClient(1)
  const inbox = openInbox(ocean.asClient(client), options)
  const chat = inbox.open(ocean.conversation)
  await pass(2000)
  ocean.requests.length = 0
  return { ...ocean, client, inbox, chat }
}

test('an event of a message that is removed before it is read leaves nobody catching up for ever', async () => {
  const { inbox, chat, tell, requests } = await open()
  tell('message.created', { id: 999, previous_id: 998, user_id: 2 })
  await pass(5000)
  expect(chat.view).toMatchObject({ messages: [], status: 'live' })
  requests.length = 0
  tell('message.created', { id: 999, previous_id: 998, user_id: 2 })
  await pass(5000)
  expect(requests.filter((request) => request.includes('messages'))).toEqual([])
  inbox.close()
})

test('a channel that comes and goes does not make anybody ask before the time that the service has named', async () => {
  const { inbox, chat, client, world, requests } = await open()
  world.weather = { ...world.weather, busy: 1 }
  world.retryAfter = 20
  chat.send('Patience')
  await pass(100)
  requests.length = 0
  for (let second = 0; second < 18; second++) {
    client.cut()
    await pass(1000)
  }
  expect(requests.filter((request) => request.startsWith('1 POST'))).toEqual([])
  world.weather = { ...world.weather, busy: 0 }
  await pass(60_000)
  expect(chat.view).toMatchObject({ messages: [{ content: 'Patience' }], outgoing: [] })
  inbox.close()
})

test('clients that were cut off together do not all ask in the same moment', async () => {
  const asked = new Set<number>()
  for (let seed = 0; seed < 5; seed++) {
    const { inbox, client, requests } = await open(undefined, seed)
    const joined = () => client.channels.every(({ state }) => state === 'joined')
    client.cut()
    while (!joined()) await pass(1)
    const start = Date.now()
    while (!requests.includes('1 GET conversations')) await pass(1)
    asked.add(Math.round((Date.now() - start) / 20))
    inbox.close()
  }
  expect(asked.size).toBeGreaterThan(2)
  expect(Math.max(...asked)).toBeLessThan(1100 / 20)
})
