import { expect, test } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { atRest, onFakeTime, pass } from './at_rest.ts'

onFakeTime()

const typing = 'realtime:typing:7'

const two = async () => {
  const ocean = await atRest()
  const theirClient = ocean.openClient(2)
  const other = openInbox(ocean.asClient(theirClient))
  const theirs = other.open(ocean.conversation)
  await pass(1000)
  return { ...ocean, other, theirs, theirClient }
}

test('whoever blocks somebody who is typing sees them type no more, and leaves the topic of the two', async () => {
  const { inbox, chat, other, theirs, client, theirClient, block } = await two()
  theirs.typing()
  await pass(100)
  expect(chat.view.typing).toBe(true)
  block(1, true)
  await pass(100)
  expect(chat.view.typing).toBe(false)
  expect(client.channels.map(({ topic }) => topic)).not.toContain(typing)
  // On the platform the other one stays there, until their token is renewed.
  expect(theirClient.channels.map(({ topic }) => topic)).toContain(typing)
  for (let second = 0; second < 30; second++) {
    theirs.typing()
    await pass(1000)
    expect(chat.view.typing).toBe(false)
  }
  // Nor is the other one told anything.
  chat.typing()
  await pass(100)
  expect(theirs.view.typing).toBe(false)
  expect(client.log).not.toContain('send typing:7 typing')
  inbox.close()
  other.close()
})

test('what is on its way while somebody is blocked is not shown', async () => {
  const { inbox, chat, other, theirs, world, block } = await two()
  world.weather = { ...world.weather, delay: 2000 }
  block(1, true)
  theirs.typing()
  await pass(2500)
  expect(chat.view.typing).toBe(false)
  inbox.close()
  other.close()
})

test('taking it back lets both type again', async () => {
  const { inbox, chat, other, theirs, block } = await two()
  block(1, true)
  await pass(100)
  block(1, false)
  await pass(1000)
  theirs.typing()
  chat.typing()
  await pass(100)
  expect([chat.view.typing, theirs.view.typing]).toEqual([true, true])
  inbox.close()
  other.close()
})

test('whoever was blocked before the conversation is opened is not heard at all', async () => {
  const { other, theirs, inbox, asClient, openClient, conversation, world } = await two()
  inbox.close()
  world.blocked = { 1: [2] }
  const client = openClient(1)
  const again = openInbox(asClient(client))
  const chat = again.open(conversation)
  const seen: boolean[] = []
  chat.subscribe(() => seen.push(chat.view.typing))
  for (let moment = 0; moment < 100; moment++) {
    theirs.typing()
    await pass(50)
  }
  expect(seen).not.toContain(true)
  expect(client.log).not.toContain('subscribe typing:7')
  again.close()
  other.close()
})

test('where an event of a block is lost, the next look around finds it', async () => {
  const { inbox, chat, other, theirs, world, client } = await two()
  world.blocked = { 1: [2] }
  await pass(61_000)
  theirs.typing()
  await pass(100)
  expect(chat.view.typing).toBe(false)
  expect(client.channels.map(({ topic }) => topic)).not.toContain(typing)
  inbox.close()
  other.close()
})

test('somebody else’s block closes nothing here', async () => {
  const { inbox, chat, other, theirs, world, block } = await two()
  world.blocked = { 1: [99] }
  block(2, false)
  await pass(61_000)
  theirs.typing()
  await pass(100)
  expect(chat.view.typing).toBe(true)
  inbox.close()
  other.close()
})
