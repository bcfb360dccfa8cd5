import { describe, expect, test, vi } from 'vitest'
import type { Options } from '../../clients/inbox.ts'
import { advance, openAs, openFixture, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

describe('joining', () => {
  test('sets the token before the first join and uses private channels', async () => {
    const { client } = openAs(createSimulator(), 1, withoutPolling)
    await advance(1000)
    expect(client.log.indexOf('setAuth')).toBeLessThan(client.log.findIndex((line) => line.startsWith('channel')))
    expect(client.log.filter((line) => line.startsWith('channel')).toSorted()).toEqual([
      'channel typing:7 {"config":{"private":true}}',
      'channel user:1 {"config":{"private":true,"broadcast":{"replication_ready":true}}}',
    ])
  })

  test('reads messages that arrived between the first read and the join', async () => {
    const simulator = createSimulator(4)
    simulator.setNetwork({ eventDelay: 0 })
    const { chat } = openAs(simulator, 1, withoutPolling)
    while (!chat.view.loaded) await advance(1)
    expect(chat.view.status).toBe('offline')
    simulator.insertMessage(2, { content: 'In between' })
    await advance(1000)
    expect(chat.view).toMatchObject({ status: 'live', messages: [{ content: 'In between' }] })
    expect(chat.view.messages).toEqual(simulator.table)
  })

  /** How long after the rejoin each of these clients reads what has changed, in milliseconds. */
  const delaysAfter = async (lose: (fixture: Awaited<ReturnType<typeof openFixture>>) => unknown, options: Options) => {
    const delays: number[] = []
    for (let seed = 0; seed < 12; seed++) {
      const fixture = await openFixture(options, 0, seed)
      const { inbox, client, requests } = fixture
      const isJoined = () => client.channels.find(({ topic }) => topic.includes('user:'))?.state === 'joined'
      await lose(fixture)
      while (!isJoined()) await advance(1)
      const start = Date.now()
      requests.length = 0
      while (!requests.some((request) => request.includes('conversations/changes'))) await advance(1)
      delays.push(Date.now() - start)
      inbox.close()
    }
    return delays.toSorted((one, other) => one - other)
  }

  test('after a common disconnect, clients spread their reads over ten seconds', async () => {
    const delays = await delaysAfter(({ client }) => client.disconnect(), withoutPolling)
    expect(delays[0]).toBeLessThan(4000)
    expect(delays.at(-1)).toBeGreaterThan(6000)
    expect(delays.at(-1)).toBeLessThan(10_100)
    // Not more than a third within any second, where all were.
    for (const start of delays) {
      expect(delays.filter((delay) => delay >= start && delay < start + 1000).length).toBeLessThanOrEqual(4)
    }
  })

  test('also after an outage so long that each of them has polled meanwhile', async () => {
    const delays = await delaysAfter(async ({ client }) => {
      client.control.refuseJoins = true
      client.disconnect()
      await advance(70_000)
      client.control.refuseJoins = false
      // Long after the polls of this outage, and long before the next.
    }, { poll: [55_000, 60_000] })
    expect(delays.filter((delay) => delay < 1000).length).toBeLessThanOrEqual(4)
    expect(delays.at(-1)).toBeGreaterThan(4000)
  })

  test('a client whose channel alone was closed reads within a second', async () => {
    const delays = await delaysAfter(({ client }) => client.closeChannels(), withoutPolling)
    expect(delays.at(-1)).toBeLessThan(1100)
    expect(new Set(delays).size).toBeGreaterThan(6)
  })

  test('the spread can be set', async () => {
    const delays = await delaysAfter(({ client }) => client.disconnect(), { ...withoutPolling, resyncJitter: 200 })
    expect(delays.at(-1)).toBeLessThan(300)
  })

  test('an event that comes while the client waits is shown at once, with what was missed before it', async () => {
    const { client, chat, insertMessage, table } = await openFixture({ ...withoutPolling, resyncJitter: 1e6 })
    client.disconnect()
    insertMessage(2, { content: 'Missed' })
    await advance(3000)
    expect(chat.view).toMatchObject({ status: 'catching up', messages: [] })
    insertMessage(2, { content: 'Now' })
    await advance(100)
    expect(chat.view.messages).toEqual(table)
  })
})

describe('after a lost connection', () => {
  test('the views are offline, supabase-js rejoins, and missed messages are read', async () => {
    const { client, inbox, chat, insertMessage, table, setNetwork } = await openFixture(withoutPolling)
    setNetwork({ latency: 50 })
    client.disconnect()
    expect([inbox.view.status, chat.view.status]).toEqual(['offline', 'offline'])
    insertMessage(2, { content: 'Missed' })
    client.log.length = 0
    await advance(12_000)
    expect(chat.view.messages).toEqual(table)
    expect([inbox.view.status, chat.view.status]).toEqual(['live', 'live'])
    expect(client.log.filter((line) => line.startsWith('subscribe'))).toEqual([])
    // The token may have expired meanwhile, and supabase-js would rejoin with the expired one.
    expect(client.log).toContain('setAuth')
  })

  test('no typing event is sent', async () => {
    const { client, chat } = await openFixture(withoutPolling)
    client.disconnect()
    chat.typing()
    expect(client.log.filter((line) => line.startsWith('send'))).toEqual([])
  })

  test('a channel that does not rejoin in time is recreated', async () => {
    const { client, chat } = await openFixture(withoutPolling)
    client.control.joinsTimeOut = true
    client.disconnect()
    await advance(3000)
    client.control.joinsTimeOut = false
    client.log.length = 0
    await advance(35_000)
    const subscribed = client.log.filter((line) => line.startsWith('subscribe')).toSorted()
    expect(subscribed).toEqual(['subscribe typing:7', 'subscribe user:1'])
    expect(chat.view.status).toBe('live')
  })

  test('rejoining does not send a message before the Retry-After has passed', async () => {
    const { chat, client, server, setNetwork, requests, requestsWith } = await openFixture(withoutPolling)
    setNetwork({ overload: 1 })
    server.retryAfter = 20
    chat.send('Patience')
    await advance(100)
    requests.length = 0
    for (let second = 0; second < 18; second++) {
      client.disconnect()
      await advance(1000)
    }
    expect(requestsWith('1 POST')).toEqual([])
    setNetwork({ overload: 0 })
    await advance(60_000)
    expect(chat.view).toMatchObject({ messages: [{ content: 'Patience' }], outgoing: [] })
  })
})

describe('a channel that the server closed', () => {
  test('is recreated after setting the token, and missed messages are read', async () => {
    const { client, inbox, chat, insertMessage, table } = await openFixture(withoutPolling)
    client.closeChannels()
    insertMessage(2, { content: 'Missed' })
    expect(inbox.view.status).toBe('offline')
    await advance(3000)
    expect(chat.view).toMatchObject({ status: 'live', messages: [{ content: 'Missed' }] })
    expect(chat.view.messages).toEqual(table)
    const steps = client.log.filter((line) => line === 'setAuth' || line.includes('user:1'))
      .map((line) => line.split(' ')[0])
    expect(steps.slice(0, 2)).toEqual(['setAuth', expect.not.stringMatching('subscribe')])
    expect(steps).toContain('subscribe')
    expect(client.channels.map(({ topic }) => topic).toSorted()).toEqual(['realtime:typing:7', 'realtime:user:1'])
  })

  test('is recreated with growing backoff if it keeps being closed', async () => {
    const { client } = await openFixture(withoutPolling)
    for (let second = 0; second < 300; second++) {
      await advance(1000)
      client.closeChannels()
    }
    const joins = client.log.filter((line) => line === 'subscribe user:1').length
    expect(joins).toBeGreaterThan(8)
    expect(joins).toBeLessThan(20)
  })
})

test('a refused join is retried without end, and the view shows the reason', async () => {
  const { client, inbox, chat } = await openFixture(withoutPolling)
  client.control.refuseJoins = true
  client.closeChannels()
  await advance(100_000)
  expect(inbox.view).toMatchObject({ status: 'offline', error: { message: 'Unauthorized' } })
  const attempts = client.log.filter((line) => line === 'subscribe user:1').length
  expect(attempts).toBeGreaterThan(3)
  expect(attempts).toBeLessThan(8)
  client.control.refuseJoins = false
  await advance(40_000)
  expect(inbox.view).toMatchObject({ status: 'live', error: null })
  expect(chat.view.status).toBe('live')
})

describe('resync in a browser', () => {
  const stubPage = () => {
    const document = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    const window = new EventTarget()
    const listeners = { count: 0 }
    for (const target of [document, window]) {
      for (const [name, change] of [['addEventListener', 1], ['removeEventListener', -1]] as const) {
        const original = target[name]
        target[name] = (...args: Parameters<typeof original>) => {
          listeners.count += change
          original.apply(target, args)
        }
      }
    }
    vi.stubGlobal('document', document)
    vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
    vi.stubGlobal('removeEventListener', window.removeEventListener.bind(window))
    const setVisibility = (state: 'hidden' | 'visible') => {
      document.visibilityState = state
      document.dispatchEvent(new Event('visibilitychange'))
    }
    return { document, window, listeners, setVisibility }
  }

  test('a page that becomes visible reads what it missed', async () => {
    const { setVisibility } = stubPage()
    const { chat, setNetwork, insertMessage, table } = await openFixture(withoutPolling)
    setNetwork({ eventLoss: 1 })
    insertMessage(2, { content: 'Missed' })
    setVisibility('hidden')
    await advance(1000)
    expect(chat.view.messages).toEqual([])
    setVisibility('visible')
    await advance(100)
    expect(chat.view.messages).toEqual(table)
  })

  test('when the network returns, pending messages are sent and channels join at once', async () => {
    const { window } = stubPage()
    const { client, chat, setNetwork, insertMessage, table } = await openFixture(withoutPolling)
    insertMessage(2, { content: 'Hello' })
    await advance(100)
    setNetwork({ requestLoss: 1 })
    client.control.joinsTimeOut = true
    client.closeChannels()
    chat.send('Waiting')
    chat.markRead()
    await advance(60_000)
    setNetwork({ requestLoss: 0 })
    client.control.joinsTimeOut = false
    window.dispatchEvent(new Event('online'))
    await advance(100)
    expect(chat.view.messages).toEqual(table)
    expect(chat.view).toMatchObject({
      messages: [{ read: true }, { content: 'Waiting' }],
      outgoing: [],
      status: 'live',
    })
    expect(client.channels.map(({ state }) => state)).toEqual(['joined', 'joined'])
  })

  test('a hidden page is not polled', async () => {
    const { document } = stubPage()
    const { requests } = await openFixture()
    document.visibilityState = 'hidden'
    await advance(600_000)
    expect(requests).toEqual([])
    document.visibilityState = 'visible'
    await advance(600_000)
    const polls = requests.filter((request) => request.includes('conversations/changes')).length
    expect(polls).toBeGreaterThanOrEqual(10)
    expect(polls).toBeLessThanOrEqual(20)
  })

  test.each(['online', 'visible'])(
    'a client that was cut off alone reads at once when it is back: %s',
    async (back) => {
      const { window, setVisibility } = stubPage()
      const { client, chat, insertMessage, table } = await openFixture({ ...withoutPolling, resyncJitter: 1e6 })
      client.disconnect()
      insertMessage(2, { content: 'Missed' })
      if (back === 'online') window.dispatchEvent(new Event('online'))
      else setVisibility('visible')
      await advance(3000)
      expect(chat.view).toMatchObject({ status: 'live', messages: [{ content: 'Missed' }] })
      // It also ends a wait that has begun.
      client.disconnect()
      insertMessage(2, { content: 'Missed again' })
      await advance(3000)
      expect(chat.view.messages).not.toEqual(table)
      if (back === 'online') window.dispatchEvent(new Event('online'))
      else setVisibility('visible')
      await advance(100)
      expect(chat.view.messages).toEqual(table)
    },
  )

  test('closing removes the listeners from the page', async () => {
    const { listeners } = stubPage()
    const { inbox } = await openFixture(withoutPolling)
    expect(listeners.count).toBe(2)
    inbox.close()
    expect(listeners.count).toBe(0)
  })
})
