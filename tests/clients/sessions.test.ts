import { describe, expect, test } from 'vitest'
import { advance, openAs, openFixture, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

describe('when another user signs in', () => {
  test('the inbox closes, and the other user can open their own', async () => {
    const { inbox, client, simulator, conversation, requests } = await openFixture()
    client.signIn(2)
    expect(() => inbox.open(conversation)).toThrow('closed')
    await advance(60_000)
    expect({ requests, channels: client.channels }).toEqual({ requests: [], channels: [] })
    expect(inbox.view.me).toEqual({ id: 1, name: 'Ana' })
    const bob = openAs(simulator, 2, {}, client)
    await advance(1000)
    expect(bob.inbox.view).toMatchObject({ me: { id: 2, name: 'Bob' }, status: 'live' })
  })

  test('pending messages are not sent in their name', async () => {
    const { chat, client, setNetwork, requests, table } = await openFixture()
    setNetwork({ requestLoss: 1 })
    const answer = chat.send('From Ana')
    await advance(1000)
    client.signIn(2)
    setNetwork({ requestLoss: 0 })
    await advance(60_000)
    await expect(answer).rejects.toMatchObject({ status: 0 })
    expect({ table, requests }).toEqual({ table: [], requests: [] })
  })

  // Tabs share the stored session and receive each other's auth events a moment later.
  test('in another tab, nothing is sent even before the auth event arrives', async () => {
    const { inbox, chat, client, requests, table } = await openFixture()
    client.signIn(2, true)
    const answer = chat.send('From Ana')
    chat.typing()
    await advance(60_000)
    await expect(answer).rejects.toThrow()
    expect({ table, requests }).toEqual({ table: [], requests: [] })
    expect(() => inbox.open(7)).toThrow('closed')
    expect(client.channels).toEqual([])
  })

  test('during a token refresh, nothing is sent', async () => {
    const { chat, client, server, setNetwork, requestsWith, table } = await openFixture(withoutPolling)
    server.tokenExpired = true
    setNetwork({ latency: 100 })
    const answer = chat.send('From Ana')
    while (!client.log.includes('refreshSession')) await advance(1)
    client.signIn(2, true)
    await advance(60_000)
    await expect(answer).rejects.toThrow()
    expect(table).toEqual([])
    expect(requestsWith('2 ')).toEqual([])
  })
})

// supabase-js repeats SIGNED_IN each time the page becomes visible.
test('the inbox stays open if the same user signs in again', async () => {
  const { inbox, chat, client, table } = await openFixture()
  client.signIn(1)
  chat.send('Still me')
  await advance(1000)
  expect([inbox.view.status, chat.view.status]).toEqual(['live', 'live'])
  expect(table).toMatchObject([{ user_id: 1, content: 'Still me' }])
})

test('signing out closes the inbox', async () => {
  const { inbox, client } = await openFixture()
  client.signOut()
  await advance(1000)
  expect(client.channels).toEqual([])
  expect(() => inbox.open(7)).toThrow('closed')
})

test('without a session, the error says so and no request is sent', async () => {
  const simulator = createSimulator()
  const client = simulator.openClient(1)
  client.signOut()
  const { inbox, chat } = openAs(simulator, 1, {}, client)
  const answer = chat.send('Hello?')
  await advance(1000)
  await expect(answer).rejects.toMatchObject({ status: 401, message: 'Nobody is signed in' })
  expect(inbox.view).toMatchObject({ status: 'offline', error: { status: 401 } })
  expect(simulator.requests).toEqual([])
})

describe('an expired token', () => {
  const refreshes = ({ log }: { log: string[] }) => log.filter((line) => line === 'refreshSession')

  test('is refreshed once for all concurrent requests, which then succeed', async () => {
    const { inbox, chat, client, server, table } = await openFixture()
    server.tokenExpired = true
    chat.send('Still me')
    const opening = Promise.all([1, 2, 3, 4, 5].map(() => inbox.openWith(2)))
    await advance(1000)
    await opening
    expect(table).toHaveLength(1)
    expect(refreshes(client)).toHaveLength(1)
  })

  test('is not refreshed again for requests that were rejected after the refresh', async () => {
    const { inbox, chat, client, server, setNetwork } = await openFixture(withoutPolling)
    server.tokenExpired = true
    setNetwork({ latency: 3000 })
    chat.send('One')
    for (let count = 0; count < 8; count++) {
      inbox.openWith(2).catch(() => {})
      await advance(500)
    }
    await advance(30_000)
    expect(refreshes(client)).toHaveLength(1)
  })

  test('that cannot be refreshed fails the request, which is not retried', async () => {
    const { chat, client, server, requestsWith } = await openFixture()
    server.tokenExpired = true
    client.control.refreshFails = true
    const answer = chat.send('Who am I?')
    await advance(20_000)
    await expect(answer).rejects.toMatchObject({ status: 401 })
    expect(requestsWith('1 POST')).toHaveLength(1)
  })

  test('is refreshed only once if the new token is rejected as well', async () => {
    const { chat, client, server } = await openFixture(withoutPolling)
    server.tokenExpired = true
    client.control.refreshHelps = false
    const answer = chat.send('Who am I?')
    await advance(5000)
    await expect(answer).rejects.toMatchObject({ status: 401 })
    expect(refreshes(client)).toHaveLength(1)
  })
})
