import { expect, test } from 'vitest'
import { advance, openAs, openFixture, useFakeTime } from './fixture.ts'

useFakeTime()

const disconnects = (log: string[]) => log.filter((line) => line === 'disconnect').length

test('closing ends the connection, which would keep a process alive', async () => {
  const { inbox, client } = await openFixture()
  inbox.close()
  await advance(1000)
  expect(client.channels).toEqual([])
  expect(disconnects(client.log)).toBe(1)
})

test('closing a conversation does not', async () => {
  const { chat, client } = await openFixture()
  chat.close()
  await advance(1000)
  expect(client.channels.map(({ topic }) => topic)).toEqual(['realtime:user:1'])
  expect(disconnects(client.log)).toBe(0)
})

test('a connection that is not open yet is left to supabase-js', async () => {
  const { inbox, client } = await openFixture()
  client.control.isConnecting = true
  inbox.close()
  await advance(1000)
  expect(client.channels).toEqual([])
  expect(disconnects(client.log)).toBe(0)
})

test('the connection stays for a channel of the page', async () => {
  const { inbox, client } = await openFixture()
  client.channel('own', {})
  inbox.close()
  await advance(1000)
  expect(client.channels.map(({ topic }) => topic)).toEqual(['realtime:own'])
  expect(disconnects(client.log)).toBe(0)
})

test.each([0, 30, 100])('an inbox opened %i ms after the last one joins at once', async (pause) => {
  const { simulator, inbox, client } = await openFixture()
  inbox.close()
  await advance(pause)
  const { inbox: next } = openAs(simulator, 1, undefined, client)
  await advance(2000)
  expect(next.view.status).toBe('live')
})
