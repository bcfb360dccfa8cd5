import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { seededRandom } from '../tools/random.ts'
import { FakeBroadcastChannel, fakeLocks, openOrigin } from './browser_fakes.ts'
import { advance, openAs, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

beforeEach(() => {
  vi.stubGlobal('BroadcastChannel', FakeBroadcastChannel)
  vi.stubGlobal('navigator', { locks: fakeLocks() })
})
afterEach(() => FakeBroadcastChannel.open.clear())

const contents = (messages: readonly { content: string }[]) => messages.map(({ content }) => content)

const openFixture = async () => {
  const simulator = createSimulator()
  const origin = openOrigin()
  const openInbox = async (user = 1, page = origin.openPage()) => {
    const opened = openAs(simulator, user, { ...withoutPolling, storage: page.storage })
    await advance(1000)
    return { ...opened, control: page.control }
  }
  return { simulator, origin, openInbox, ...await openInbox() }
}

describe('what was written before the page was closed', () => {
  test('is shown as waiting and sent, in order, once the inbox is opened again', async () => {
    const { simulator, chat, inbox, openInbox } = await openFixture()
    simulator.setNetwork({ requestLoss: 1 })
    const answers = ['One', 'Two', 'Three'].map((content) => chat.send(content))
    await advance(100)
    inbox.close()
    for (const answer of answers) await expect(answer).rejects.toThrow('Closed')
    const again = await openInbox()
    expect(again.chat.view.outgoing).toMatchObject([{ content: 'One', state: 'waiting' }, {}, {}])
    simulator.setNetwork({ requestLoss: 0 })
    await advance(60_000)
    expect(contents(simulator.table)).toEqual(['One', 'Two', 'Three'])
    expect(again.chat.view).toMatchObject({ messages: simulator.table, outgoing: [] })
  })

  test('is sent without the conversation being opened', async () => {
    const { simulator, chat, inbox, origin } = await openFixture()
    simulator.setNetwork({ requestLoss: 1 })
    chat.send('One')
    await advance(100)
    inbox.close()
    simulator.setNetwork({ requestLoss: 0 })
    const { chat: other } = openAs(simulator, 1, { storage: origin.openPage().storage })
    other.close()
    await advance(60_000)
    expect(contents(simulator.table)).toEqual(['One'])
    expect(origin.values.size).toBe(0)
  })

  test('is sent once if the answer was lost with the page', async () => {
    const { simulator, chat, inbox, openInbox } = await openFixture()
    simulator.setNetwork({ responseLoss: 1 })
    chat.send('Once')
    await advance(100)
    expect(simulator.table).toHaveLength(1)
    inbox.close()
    simulator.setNetwork({ responseLoss: 0 })
    const again = await openInbox()
    await advance(60_000)
    expect(simulator.table).toHaveLength(1)
    expect(again.chat.view.outgoing).toEqual([])
  })

  test('stays refused if it was refused, and can be retried or discarded', async () => {
    const { simulator, chat, inbox, openInbox, origin } = await openFixture()
    chat.send('rude')
    await advance(100)
    inbox.close()
    const { chat: again } = await openInbox()
    const refused = {
      content: 'rude',
      state: 'refused',
      error: { status: 403, message: 'You cannot write to this person' },
    }
    expect(again.view.outgoing).toMatchObject([refused])
    again.retry(again.view.outgoing[0]!.client_id)
    expect(again.view.outgoing).toMatchObject([{ state: 'sending', error: null }])
    await advance(1000)
    expect(again.view.outgoing).toMatchObject([refused])
    expect(simulator.requestsWith('1 POST')).toHaveLength(2)
    again.discard(again.view.outgoing[0]!.client_id)
    await advance(100)
    expect(again.view.outgoing).toEqual([])
    expect(origin.values.size).toBe(0)
  })

  test('includes read markers', async () => {
    const { simulator, chat, inbox, openInbox } = await openFixture()
    simulator.insertMessage(2, { content: 'Read me' })
    await advance(1000)
    simulator.setNetwork({ requestLoss: 1 })
    chat.markRead()
    await advance(100)
    inbox.close()
    simulator.setNetwork({ requestLoss: 0 })
    const again = await openInbox()
    await advance(1000)
    expect(simulator.table).toMatchObject([{ read: true }])
    expect(again.chat.view.messages).toMatchObject([{ read: true }])
  })

  test('includes drafts, until they are sent', async () => {
    const { chat, inbox, openInbox, origin } = await openFixture()
    await Promise.all([chat.setDraft('Hel'), advance(10)])
    inbox.close()
    const again = await openInbox()
    expect(again.chat.view.draft).toBe('Hel')
    await Promise.all([again.chat.setDraft('Hello'), advance(10)])
    again.chat.send('Hello')
    expect(again.chat.view.draft).toBe('')
    await advance(1000)
    expect(origin.values.size).toBe(0)
  })
})

describe('another user', () => {
  test('of the same browser is not shown and does not send what this one has written', async () => {
    const { simulator, chat, inbox, openInbox } = await openFixture()
    simulator.setNetwork({ requestLoss: 1 })
    chat.send('From Ana')
    chat.setDraft('A draft of Ana')
    await advance(100)
    inbox.close()
    simulator.setNetwork({ requestLoss: 0 })
    const bob = await openInbox(2)
    await advance(60_000)
    expect(bob.chat.view).toMatchObject({ messages: [], outgoing: [], draft: '' })
    expect(simulator.requestsWith('POST')).toEqual([])
  })

  test.each(['signs out', 'is replaced by another user'])('finds nothing after this one %s', async (how) => {
    const { simulator, chat, client, origin } = await openFixture()
    simulator.setNetwork({ requestLoss: 1 })
    chat.send('From Ana')
    chat.setDraft('A draft of Ana')
    await advance(100)
    expect(origin.values.size).toBe(1)
    if (how === 'signs out') client.signOut()
    else client.signIn(2)
    await advance(100)
    expect(origin.values.size).toBe(0)
  })

  test('finds nothing even if the storage hung while this one signed out', async () => {
    const { chat, client, control, origin } = await openFixture()
    control.latency = 40_000
    chat.setDraft('A draft of Ana')
    await advance(100)
    control.latency = 1
    client.signOut()
    await advance(60_000)
    expect(origin.values.size).toBe(0)
  })

  test('finds nothing even if this one was writing in another page', async () => {
    const { simulator, chat, client, origin, openInbox } = await openFixture()
    const other = await openInbox()
    simulator.setNetwork({ requestLoss: 1 })
    chat.send('From Ana')
    await advance(100)
    client.signOut()
    other.chat.send('Also from Ana')
    other.client.signOut()
    other.chat.send('Still from Ana')
    await advance(60_000)
    expect(origin.values.size).toBe(0)
    expect(simulator.requestsWith('POST')).toEqual([])
  })
})

describe('a storage that', () => {
  test.each([['is forbidden', { fails: true }], ['hangs', { hangs: true }], ['is full', { capacity: 10 }]])(
    '%s leaves everything in memory and says so, and gets it as soon as it works again',
    async (_, fault) => {
      const { simulator, chat, inbox, control, openInbox } = await openFixture()
      expect(inbox.view.isDurable).toBe(true)
      Object.assign(control, fault)
      simulator.setNetwork({ requestLoss: 1 })
      chat.send('One')
      await advance(20_000)
      expect(inbox.view.isDurable).toBe(false)
      simulator.setNetwork({ requestLoss: 0 })
      await advance(60_000)
      expect(contents(simulator.table)).toEqual(['One'])
      simulator.setNetwork({ requestLoss: 1 })
      chat.send('Two')
      chat.setDraft('Three')
      await advance(20_000)
      Object.assign(control, { fails: false, hangs: false, capacity: Infinity })
      chat.setDraft('Three!')
      await advance(10_000)
      expect(inbox.view.isDurable).toBe(true)
      inbox.close()
      const again = await openInbox()
      expect(again.chat.view).toMatchObject({ outgoing: [{ content: 'Two' }], draft: 'Three!' })
    },
  )

  test('does not exist is memory, and says so', async () => {
    const simulator = createSimulator()
    const { inbox, chat } = openAs(simulator, 1, { storage: null })
    await advance(1000)
    chat.send('One')
    await advance(1000)
    expect(inbox.view.isDurable).toBe(false)
    expect(contents(simulator.table)).toEqual(['One'])
  })

  test('is slow gets also what was written while it was saving', async () => {
    const { simulator, chat, inbox, control, openInbox } = await openFixture()
    control.latency = 50
    simulator.setNetwork({ requestLoss: 1 })
    chat.send('One')
    await advance(40)
    chat.send('Two')
    await advance(50)
    chat.setDraft('Three')
    await advance(500)
    inbox.close()
    const again = await openInbox()
    expect(again.chat.view).toMatchObject({ outgoing: [{ content: 'One' }, { content: 'Two' }], draft: 'Three' })
  })

  test('holds something else under the key is overwritten', async () => {
    const { origin, inbox, openInbox, chat } = await openFixture()
    chat.setDraft('Hello')
    await advance(100)
    const [key] = origin.values.keys()
    inbox.close()
    for (const value of ['text', 7, {}, { version: 0, unsent: { messages: 7 } }]) {
      origin.values.set(key!, value)
      const again = await openInbox()
      expect(again.inbox.view).toMatchObject({ isDurable: true, loaded: true })
      expect(again.chat.view).toMatchObject({ outgoing: [], draft: '' })
      again.inbox.close()
    }
  })

  test('has get, set and delete alone keeps what two pages write at once', async () => {
    const { simulator, origin } = await openFixture()
    const pages = [1, 2].map(() => {
      const { update: _, ...storage } = origin.openPage().storage
      return openAs(simulator, 1, { ...withoutPolling, storage })
    })
    await advance(1000)
    simulator.setNetwork({ requestLoss: 1 })
    for (const { chat } of pages) for (let count = 0; count < 5; count++) chat.send(`${count}`)
    await advance(1000)
    for (const { inbox } of pages) inbox.close()
    simulator.setNetwork({ requestLoss: 0 })
    openAs(simulator, 1, { storage: origin.openPage().storage })
    await advance(60_000)
    expect(simulator.table).toHaveLength(10)
  })
})

describe('two pages of one user', () => {
  test('show each other what is unsent, and one sends it', async () => {
    const { simulator, chat, openInbox } = await openFixture()
    const other = await openInbox()
    simulator.setNetwork({ latency: 500 })
    const answer = chat.send('Once')
    await advance(100)
    expect(other.chat.view.outgoing).toMatchObject([{ content: 'Once' }])
    await advance(10_000)
    expect(await answer).toEqual(simulator.table[0])
    expect(simulator.requestsWith('1 POST')).toHaveLength(1)
    expect(other.chat.view).toMatchObject({ messages: simulator.table, outgoing: [] })
  })

  test('a message is sent by the one that is left, and its promise resolves where it was written', async () => {
    const { simulator, chat, openInbox } = await openFixture()
    simulator.server.intercept = () => new Response('<h1>Log in to this network</h1>', { status: 511 })
    const answer = chat.send('Once')
    await advance(100)
    // The first page waits before its next try.
    simulator.server.intercept = null
    await openInbox()
    expect(simulator.table).toHaveLength(1)
    expect(await answer).toEqual(simulator.table[0])
    await advance(60_000)
    expect(simulator.requestsWith('1 POST')).toHaveLength(1)
    expect(chat.view).toMatchObject({ messages: simulator.table, outgoing: [] })
  })

  test('a page that was suspended while it was sending does not hold up the other for ever', async () => {
    const { simulator, chat, openInbox } = await openFixture()
    const other = await openInbox()
    simulator.setNetwork({ latency: 1e9 })
    chat.send('One')
    await advance(10)
    simulator.setNetwork({ latency: 5 })
    const answer = other.chat.send('Two')
    await advance(25_000)
    expect(contents(simulator.table)).toEqual(['One', 'Two'])
    expect(await answer).toMatchObject({ content: 'Two' })
  })

  test('without Web Locks both may send, and there is still one message', async () => {
    vi.stubGlobal('navigator', {})
    const { simulator, chat, openInbox } = await openFixture()
    const other = await openInbox()
    simulator.setNetwork({ latency: 500 })
    chat.send('Once')
    other.chat.send('Twice')
    await advance(30_000)
    expect(contents(simulator.table).sort()).toEqual(['Once', 'Twice'])
    for (const { view } of [chat, other.chat]) expect(view).toMatchObject({ messages: simulator.table, outgoing: [] })
  })

  test('discarding in one page keeps the other from sending it', async () => {
    const { simulator, chat, openInbox } = await openFixture()
    const other = await openInbox()
    simulator.setNetwork({ requestLoss: 1 })
    const answer = chat.send('Never mind')
    await advance(1000)
    other.chat.discard(other.chat.view.outgoing[0]!.client_id)
    await advance(1000)
    simulator.setNetwork({ requestLoss: 0 })
    await expect(Promise.all([answer, advance(60_000)])).rejects.toThrow('Discarded')
    expect(simulator.table).toEqual([])
    expect(chat.view.outgoing).toEqual([])
  })
})

// A composer stores each draft and then sends it. Pages are killed at random moments, storages fail now and then, and
// the network is bad. What is shown as stored may neither be lost nor doubled; what is a draft after a kill is sent by
// the next page.
test.each(Array.from({ length: 30 }, (_, seed) => seed))(
  'of 40 messages from killed pages none is lost, doubled or reordered (seed %i)',
  async (seed) => {
    const random = seededRandom(seed)
    const simulator = createSimulator(seed)
    const origin = openOrigin()
    if (seed % 3 === 0) vi.stubGlobal('navigator', {})
    simulator.setNetwork({ requestLoss: 0.2, responseLoss: 0.2, overload: 0.1, latency: 300, eventLoss: 0.3 })
    const openPage = async () => {
      const { storage, control } = origin.openPage()
      const { inbox, chat } = openAs(simulator, 1, { storage })
      // The storage is read before anybody can have typed.
      await advance(20)
      const kill = () => {
        control.isKilled = true
        inbox.close()
      }
      return { inbox, chat, control, kill }
    }
    const written: string[] = []
    let page = await openPage()
    for (let number = 1; number <= 40;) {
      const { chat, kill } = page
      const content = `${number}`
      if (!chat.view.draft) chat.setDraft(content)
      await advance(random() < 0.1 ? 0.5 : 5)
      if (random() < 0.2 && page.inbox.view.isDurable) {
        kill()
        page = await openPage()
        // The draft was killed before it was stored, so the user types it again.
        if (page.chat.view.draft !== content) continue
      }
      written.push(content)
      number++
      page.control.fails = random() < 0.1
      page.chat.send(content)
      await advance(random() < 0.5 ? 1 : random() * 400)
      page.control.fails = false
      await advance(5)
      // Once it is not durable the user keeps the page open until the next change is saved.
      if (random() < 0.5 && page.inbox.view.isDurable) {
        page.kill()
        page = await openPage()
        // Killed between the storing of the draft and that of the message.
        const { draft } = page.chat.view
        if (draft) page.chat.send(draft)
      }
    }
    simulator.setNetwork({ requestLoss: 0, responseLoss: 0, overload: 0, latency: 5 })
    await advance(120_000)
    expect(contents(simulator.table)).toEqual(written)
    expect(page.chat.view).toMatchObject({ messages: simulator.table, outgoing: [], draft: '' })
    expect(origin.values.size).toBe(0)
  },
)
