import { expect, test } from 'vitest'
import { advance, openAs, openFixture, useFakeTime } from './fixture.ts'

useFakeTime()

/** Which connections were ended: 0 is the client's own, 1 that of typing. */
const disconnects = (log: string[]) => log.filter((line) => line.startsWith('disconnect')).toSorted()

test('closing ends the connections, which would keep a process alive', async () => {
  const { inbox, client } = await openFixture()
  inbox.close()
  await advance(1000)
  expect(client.channels).toEqual([])
  expect(disconnects(client.log)).toEqual(['disconnect 0', 'disconnect 1'])
})

test('closing a conversation ends the one for typing alone', async () => {
  const { chat, client } = await openFixture()
  chat.close()
  await advance(1000)
  expect(client.channels.map(({ topic }) => topic)).toEqual(['realtime:user:1'])
  expect(disconnects(client.log)).toEqual(['disconnect 1'])
})

test('a connection that is not open yet is left to supabase-js', async () => {
  const { inbox, client } = await openFixture()
  client.control.isConnecting = true
  inbox.close()
  await advance(1000)
  expect(client.channels).toEqual([])
  expect(disconnects(client.log)).toEqual([])
})

test('the connection stays for a channel of the page', async () => {
  const { inbox, client } = await openFixture()
  client.realtime.channel('own', {})
  inbox.close()
  await advance(1000)
  expect(client.channels.map(({ topic }) => topic)).toEqual(['realtime:own'])
  expect(disconnects(client.log)).toEqual(['disconnect 1'])
})

test.each([0, 30, 100])('an inbox opened %i ms after the last one joins at once', async (pause) => {
  const { simulator, inbox, client } = await openFixture()
  inbox.close()
  await advance(pause)
  const { inbox: next } = openAs(simulator, 1, undefined, client)
  await advance(2000)
  expect(next.view.status).toBe('live')
})
