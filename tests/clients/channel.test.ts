import { describe, expect, test, vi } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { onFakeTime, pass } from './at_rest.ts'
import { openWorld } from './world.ts'

onFakeTime()

/** Ana with a conversation open, and no poll that would come to the help of what is tested. */
const listening = async () => {
  const ocean = openWorld()
  const client = ocean.openClient(1)
  const inbox = openInbox(ocean.asClient(client), { poll: [1e8, 1e9] })
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  return { ...ocean, client, inbox, chat }
}
const inOrder = (log: string[], topic: string) =>
  log.filter((line) => line === 'setAuth' || line.includes(topic)).map((line) => line.split(' ')[0])

describe('joining', () => {
  test('the token is there before the first join, and the channels are private', async () => {
    const { client, inbox } = await listening()
    expect(client.log.indexOf('setAuth')).toBeLessThan(client.log.findIndex((line) => line.startsWith('channel')))
    expect(client.log.filter((line) => line.startsWith('channel')).toSorted()).toEqual([
      'channel typing:7 {"config":{"private":true}}',
      'channel user:1 {"config":{"private":true}}',
    ])
    inbox.close()
  })

  test('what came between the first reading and the join is read after the join', async () => {
    const { openClient, asClient, world, write, conversation, table } = openWorld(4)
    const client = openClient(1)
    world.weather = { ...world.weather, delay: 0 }
    const inbox = openInbox(asClient(client), { poll: [1e8, 1e9] })
    const chat = inbox.open(conversation)
    while (!chat.view.loaded) await pass(1)
    expect(chat.view.status).toBe('offline')
    write(2, { content: 'In between' })
    await pass(1000)
    expect(chat.view).toMatchObject({ status: 'live', messages: [{ content: 'In between' }] })
    expect(chat.view.messages).toEqual(table)
    inbox.close()
  })
})

describe('a socket that is cut', () => {
  test('is offline, joins again by itself, and what was missed is read', async () => {
    const { client, inbox, chat, write, table, world } = await listening()
    world.weather = { ...world.weather, slowness: 50 }
    client.cut()
    expect([inbox.view.status, chat.view.status]).toEqual(['offline', 'offline'])
    write(2, { content: 'Missed' })
    client.log.length = 0
    await pass(3000)
    expect(chat.view.messages).toEqual(table)
    expect([inbox.view.status, chat.view.status]).toEqual(['live', 'live'])
    expect(client.log.filter((line) => line.startsWith('subscribe'))).toEqual([])
    // The token may have expired in the meantime; the library would join with it all the same.
    expect(client.log).toContain('setAuth')
    inbox.close()
  })

  test('is not typed into', async () => {
    const { client, inbox, chat } = await listening()
    client.cut()
    chat.typing()
    expect(client.log.filter((line) => line.startsWith('send'))).toEqual([])
    inbox.close()
  })

  test('and does not get through for long is made anew', async () => {
    const { client, inbox, chat } = await listening()
    client.control.refused = true
    client.cut()
    await pass(3000)
    client.control.refused = false
    client.log.length = 0
    await pass(35_000)
    expect(client.log.filter((line) => line.startsWith('subscribe')).toSorted()).toEqual([
      'subscribe typing:7',
      'subscribe user:1',
    ])
    expect(chat.view.status).toBe('live')
    inbox.close()
  })
})

describe('a channel that was ended', () => {
  test('is made anew, with the token first, and what was missed is read', async () => {
    const { client, inbox, chat, write, table } = await listening()
    client.log.length = 0
    client.end()
    write(2, { content: 'Missed' })
    expect(inbox.view.status).toBe('offline')
    await pass(3000)
    expect(chat.view).toMatchObject({ status: 'live', messages: [{ content: 'Missed' }] })
    expect(chat.view.messages).toEqual(table)
    expect(inOrder(client.log, 'user:1').slice(0, 2)).toEqual(['setAuth', expect.not.stringMatching('subscribe')])
    expect(inOrder(client.log, 'user:1')).toContain('subscribe')
    expect(client.channels.map(({ topic }) => topic).toSorted()).toEqual(['realtime:typing:7', 'realtime:user:1'])
    inbox.close()
  })

  test('again and again is made anew less and less often', async () => {
    const { client, inbox } = await listening()
    client.log.length = 0
    for (let second = 0; second < 300; second++) {
      await pass(1000)
      client.end()
    }
    const joins = client.log.filter((line) => line === 'subscribe user:1').length
    expect(joins).toBeGreaterThan(8)
    expect(joins).toBeLessThan(20)
    inbox.close()
  })
})

describe('a channel that is refused', () => {
  test('is tried again for as long as it takes, and the reason is told', async () => {
    const { client, inbox, chat } = await listening()
    client.control.refused = true
    client.end()
    await pass(100_000)
    expect(inbox.view).toMatchObject({ status: 'offline', problem: { message: 'Unauthorized' } })
    const tries = client.log.filter((line) => line === 'subscribe user:1').length
    expect(tries).toBeGreaterThan(3)
    expect(tries).toBeLessThan(8)
    client.control.refused = false
    await pass(40_000)
    expect(inbox.view).toMatchObject({ status: 'live', problem: null })
    expect(chat.view.status).toBe('live')
    inbox.close()
  })
})

describe('waking', () => {
  const page = () => {
    const document = Object.assign(new EventTarget(), { visibilityState: 'visible' })
    const window = new EventTarget()
    const listeners = { count: 0 }
    for (const target of [document, window]) {
      const { addEventListener, removeEventListener } = target
      target.addEventListener = (...args: Parameters<typeof addEventListener>) => {
        listeners.count++
        addEventListener.apply(target, args)
      }
      target.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
        listeners.count--
        removeEventListener.apply(target, args)
      }
    }
    vi.stubGlobal('document', document)
    vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
    vi.stubGlobal('removeEventListener', window.removeEventListener.bind(window))
    return { document, window, listeners }
  }

  test('a page that is looked at again reads what it missed', async () => {
    const { document } = page()
    const { inbox, chat, world, write, table } = await listening()
    world.weather = { ...world.weather, dropped: 1 }
    write(2, { content: 'Missed' })
    document.visibilityState = 'hidden'
    document.dispatchEvent(new Event('visibilitychange'))
    await pass(1000)
    expect(chat.view.messages).toEqual([])
    document.visibilityState = 'visible'
    document.dispatchEvent(new Event('visibilitychange'))
    await pass(100)
    expect(chat.view.messages).toEqual(table)
    inbox.close()
  })

  test('the network that is back sends at once what waits, and joins', async () => {
    const { window } = page()
    const { client, inbox, chat, world, write, table } = await listening()
    write(2, { content: 'Hello' })
    await pass(100)
    world.weather = { ...world.weather, unsent: 1 }
    client.control.refused = true
    client.end()
    chat.send('Waiting')
    chat.markRead()
    await pass(60_000)
    world.weather = { ...world.weather, unsent: 0 }
    client.control.refused = false
    window.dispatchEvent(new Event('online'))
    await pass(100)
    expect(chat.view.messages).toEqual(table)
    expect(chat.view).toMatchObject({
      messages: [{ read: true }, { content: 'Waiting' }],
      outgoing: [],
      status: 'live',
    })
    expect(client.channels.map(({ state }) => state)).toEqual(['joined', 'joined'])
    inbox.close()
  })

  test('nobody polls for a page that nobody sees', async () => {
    const { document } = page()
    const { openClient, asClient, requests } = openWorld()
    const inbox = openInbox(asClient(openClient(1)))
    await pass(1000)
    requests.length = 0
    document.visibilityState = 'hidden'
    await pass(600_000)
    expect(requests).toEqual([])
    document.visibilityState = 'visible'
    await pass(600_000)
    const polls = requests.filter((request) => request === '1 GET conversations').length
    expect(polls).toBeGreaterThanOrEqual(10)
    expect(polls).toBeLessThanOrEqual(20)
    inbox.close()
  })

  test('closing takes the listeners off the page', async () => {
    const { listeners } = page()
    const { inbox } = await listening()
    expect(listeners.count).toBe(2)
    inbox.close()
    expect(listeners.count).toBe(0)
  })
})
