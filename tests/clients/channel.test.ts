import { expect, test } from 'vitest'
import { createApiClient } from '../../clients/api_client.ts'
import type { Options } from '../../clients/inbox.ts'
import { advance, closeChannels, disconnect, forget, hear, markRead, network, offline, openAs } from './fixture.ts'
import { openFixture, playAll, type Row, type Scene, send, type, useFakeTime } from './fixture.ts'
import { leave, repeat, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

const isOffline = {
  status: 'offline',
  inbox: {
    status: 'offline',
    error: { code: 'offline', message: 'The service cannot be reached. Is this device online?' },
  },
}
const live = { status: 'live', inbox: { status: 'live', error: null } }
const inBrowser = { ...withoutPolling, browser: true } as const
const never = { ...inBrowser, resyncJitter: 1e6 }
const logs = (start: string, ...lines: string[]) => ({ client }: Scene) =>
  expect(client.log.filter((line) => line.startsWith(start)).toSorted()).toEqual(lines)
const refuseJoins = (value: boolean) => ({ client }: Scene) => client.control.refuseJoins = value
const timeOutJoins = (value: boolean) => ({ client }: Scene) => client.control.joinsTimeOut = value
const isBetween = (min: number, value: number, max: number) => {
  expect(value).toBeGreaterThan(min)
  expect(value).toBeLessThan(max)
}
const joinsBetween = (min: number, max: number) => ({ client }: Scene) =>
  isBetween(min, client.log.filter((line) => line === 'subscribe user:1').length, max)
const listeners = (...counts: number[]) => ({ page: { document, window } }: Scene) =>
  expect([document.listeners, window.listeners]).toEqual(counts)
const isMissing = ({ chat, table }: Scene) => expect(chat.view.messages).not.toEqual(table)
const comeBack = {
  online: ({ page }: Scene) => page.tell('online'),
  visible: ({ page }: Scene) => page.show('visible'),
}

// deno-fmt-ignore
playAll([
  ['the token is set before the first join, and the channels are private', withoutPolling,
    leave, ({ openPage }) => openPage(), ({ client: { log } }) =>
      expect(log.indexOf('setAuth')).toBeLessThan(log.findIndex((line) => line.startsWith('channel'))),
    logs('channel', 'channel typing:7 {"config":{"private":true}}',
      'channel user:1 {"config":{"private":true,"broadcast":{"replication_ready":true}}}')],
  ['an event that comes while the client waits to catch up is shown at once, with what was missed before it',
    { ...withoutPolling, resyncJitter: 1e6 },
    disconnect, hear('Missed'), 3000, { status: 'catching up', messages: [] }, hear('Now'), 100, { isComplete: true }],

  ['after a lost connection the views are offline, supabase-js rejoins, and missed messages are read', withoutPolling,
    network({ latency: 50 }), disconnect, { status: 'offline', inbox: { status: 'offline' } }, hear('Missed'), forget,
    12_000, { ...live, isComplete: true, texts: ['Missed'] }, logs('subscribe'),
    // The token may have expired meanwhile, and supabase-js would rejoin with the expired one.
    ({ client }) => expect(client.log).toContain('setAuth')],
  ['while the connection is lost no typing event is sent', withoutPolling, disconnect, type, logs('send')],
  ['a channel that does not rejoin in time is recreated', withoutPolling,
    timeOutJoins(true), disconnect, 3000, timeOutJoins(false), forget, 35_000,
    logs('subscribe', 'subscribe typing:7', 'subscribe user:1'), live],
  ['a channel that the server closed is recreated after setting the token, and missed messages are read',
    withoutPolling,
    closeChannels, hear('Missed'), { inbox: { status: 'offline' } }, 3000,
    { status: 'live', isComplete: true, texts: ['Missed'] }, ({ client: { channels, log } }) => {
      expect(channels.map(({ topic }) => topic).toSorted()).toEqual(['realtime:typing:7', 'realtime:user:1'])
      expect(log.indexOf('setAuth')).toBeLessThan(log.indexOf('subscribe user:1'))
      expect(log).toContain('setAuth')
    }],
  ['a channel that keeps being closed is recreated with growing backoff', withoutPolling,
    repeat(300, closeChannels, 1000), joinsBetween(8, 20)],
  ['a refused join is retried without end, and the view shows the reason', withoutPolling,
    refuseJoins(true), closeChannels, 100_000, { inbox: { status: 'offline', error: { message: 'Unauthorized' } } },
    joinsBetween(3, 8), refuseJoins(false), 40_000, live],

  ['silence of the network is offline within ten seconds, and is over by itself', inBrowser,
    network({ silence: 1 }), send('In a tunnel'), 9500, isOffline, network(), 40_000, live,
    { isComplete: true, stored: ['In a tunnel'], outgoing: [] }],
  ['in a hidden page, too, if it waits for an answer', inBrowser,
    ({ page }) => page.show('hidden'), network({ silence: 1 }), send('Hello?'), 9500, isOffline],
  ['what the browser says about the network counts at once, and until an answer', inBrowser,
    ({ page }) => page.tell('offline'), isOffline, 100, live,
    offline, ({ page }) => page.tell('offline'), 1000, isOffline, network(), comeBack.online, 100, live],
  ['a message or a call of the page without an answer makes the views offline, which ends by itself', withoutPolling,
    offline, send('Waiting'), 100, isOffline, { outgoing: [{ state: 'waiting', error: { code: 'offline' } }] },
    network(), 5000, live, { outgoing: [] },
    offline, ({ client }) => void createApiClient(client).GET('/users/me'), 100, isOffline, network(), 5000, live],

  ['when the network returns, pending messages are sent and channels join at once', inBrowser,
    hear('Hello'), 100, offline, timeOutJoins(true), closeChannels, send('Waiting'), markRead, 60_000,
    network(), timeOutJoins(false), comeBack.online, 100,
    { isComplete: true, messages: [{ read: true }, { content: 'Waiting' }], outgoing: [], status: 'live' },
    ({ client }) => expect(client.channels.map(({ state }) => state)).toEqual(['joined', 'joined'])],
  ['a hidden page is not polled', { browser: true },
    ({ page }) => page.document.visibilityState = 'hidden', 600_000, { requests: [] },
    ({ page }) => page.document.visibilityState = 'visible', 600_000,
    ({ requestsWith }) => isBetween(9, requestsWith('conversations/changes').length, 21)],
  ...Object.entries(comeBack).map(([how, back]): Row => [
    `a client that missed something or was cut off alone reads at once when it is back: ${how}`, never,
    network({ eventLoss: 1 }), hear('Lost'), 1000, isMissing, back, 100, { isComplete: true }, network(),
    disconnect, hear('Missed'), back, 3000, { status: 'live', texts: ['Lost', 'Missed'] },
    // It also ends a wait that has begun.
    disconnect, hear('Missed again'), 3000, isMissing, back, 100, { isComplete: true }]),
  ['closing removes the listeners from the page', inBrowser,
    listeners(1, 2), leave, listeners(0, 0)],
])

test('messages that arrive between the first read and the join are read', async () => {
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

/** How long after the rejoin each of twelve clients reads what has changed, in milliseconds. */
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
const within = (delays: number[], from: number, to: number) =>
  delays.filter((delay) => delay >= from && delay < to).length
const loseConnection = ({ client }: { client: { disconnect: () => void } }) => client.disconnect()
const endureOutage: Parameters<typeof delaysAfter>[0] = async ({ client }) => {
  client.control.refuseJoins = true
  client.disconnect()
  await advance(70_000)
  client.control.refuseJoins = false
}

test('after a common disconnect, clients spread their reads over ten seconds', async () => {
  const delays = await delaysAfter(loseConnection, withoutPolling)
  expect(delays[0]).toBeLessThan(4000)
  expect([within(delays, 6001, 10_100) > 0, within(delays, 10_100, Infinity)]).toEqual([true, 0])
  // Not more than a third within any second, where all were.
  for (const start of delays) expect(within(delays, start, start + 1000)).toBeLessThanOrEqual(4)
})

test('also after an outage so long that each of them has polled meanwhile', async () => {
  // It ends long after the polls of this outage, and long before the next.
  const delays = await delaysAfter(endureOutage, { poll: [55_000, 60_000] })
  expect(within(delays, 0, 1000)).toBeLessThanOrEqual(4)
  expect(delays.at(-1)).toBeGreaterThan(4000)
})

test('the spread can be set, and a client whose channel alone was closed reads within a second', async () => {
  const set = await delaysAfter(loseConnection, { ...withoutPolling, resyncJitter: 200 })
  expect(set.at(-1)).toBeLessThan(300)
  const alone = await delaysAfter(({ client }) => client.closeChannels(), withoutPolling)
  expect(alone.at(-1)).toBeLessThan(1100)
  expect(new Set(alone).size).toBeGreaterThan(6)
})
