import { expect, test, vi } from 'vitest'
import { seededRandom } from '../tools/random.ts'
import { FakeBroadcastChannel, fakeLocks, openOrigin } from './browser_fakes.ts'
import { advance, blank, discard, hear, intercept, leave, markRead, network, offline, openAs } from './fixture.ts'
import { playAll, refusal, type Row, type Scene, send, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

const inBrowser = { ...withoutPolling, browser: true } as const
const draft = (text: string) => ({ chat }: Scene) => void chat.setDraft(text)
const openPage = ({ openPage }: Scene) => openPage()
const openAgain = [leave, openPage]
/** This page acts and is looked at, of those that are open. */
const turnTo = (place: number) => (scene: Scene) => Object.assign(scene, scene.pages[place])
const isUnsent = (key: string) => key.includes(':unsent:')
const kept = (count: number) => ({ origin }: Scene) =>
  expect([...origin.values.keys()].filter(isUnsent)).toHaveLength(count)
/** Nor what this user has seen. */
const nothing = ({ origin }: Scene) => expect([...origin.values.keys()]).toEqual([])
const fault = (faults: Record<string, unknown>) => ({ control }: Scene) => Object.assign(control!, faults)
/** A page with a storage that has get, set and delete alone, and calls `set` in this way. */
const openWithoutUpdate = (call = (set: () => unknown) => set()) => async (scene: Scene) => {
  const { storage, control } = scene.origin.openPage()
  const set = (key: string, value: unknown) => call(() => storage.set(key, value))
  await scene.openPage(1, { storage: { ...storage, set, update: undefined } })
  Object.assign(scene, { control })
}
const late = (call: () => unknown) => new Promise((resolve) => setTimeout(resolve, 40_000)).then(call)
const isDurable = (value: boolean) => ({ inbox: { isDurable: value } })
const sendPhoto = ({ chat }: Scene) =>
  void chat.send({ content: 'Look', file: new File(['abc'], 'größe.png', { type: 'image/png' }) })
const waiting = (...texts: string[]) => texts.map((content) => ({ content, state: 'waiting' }))
const empty = { outgoing: [], draft: '' }

// deno-fmt-ignore
playAll([
  ['what was written before the page was closed is shown as waiting and sent, in order, once the inbox is opened again',
    inBrowser,
    offline, send('One', 'Two', 'Three'), 100, leave, 0, { answers: Array(3).fill('0 Closed before it was answered') },
    openPage, { outgoing: waiting('One', 'Two', 'Three') },
    network(), 60_000, { stored: ['One', 'Two', 'Three'], isComplete: true, outgoing: [] }],
  ['it is sent without the conversation being opened', inBrowser,
    offline, send('One'), 100, leave, network(), ({ openPage }) => void openPage(1, { poll: [30_000, 60_000] }),
    ({ chat }) => chat.close(), 60_000, { stored: ['One'] }, kept(0)],
  ['it is sent once if the answer was lost with the page', inBrowser,
    network({ responseLoss: 1 }), send('Once'), 100, { stored: ['Once'] }, leave, network(), openPage,
    60_000, { stored: ['Once'], outgoing: [] }],
  ['so is a photo, once, with its file, also if the answer to its upload was lost with the page', inBrowser,
    offline, sendPhoto, 100,
    { outgoing: [{ attachment: { name: 'größe.png' } }] }, kept(2),
    leave, network({ responseLoss: 1 }), openPage, 60_000, leave, network(), openPage, 60_000, kept(0),
    { stored: ['Look'], outgoing: [], messages: [{ attachment: { name: 'größe.png', size: 3 } }] },
    ({ files }) => expect([...files.keys()]).toEqual([expect.stringMatching(/^7\/[0-9a-f-]{36}\/file\.png$/)])],
  ['and so is one that was chosen while its draft was being stored', inBrowser,
    fault({ latency: 50 }), offline, draft('L'), 10, draft('Lo'), 5, sendPhoto, 95, fault({ isKilled: true }), leave,
    network(), openPage, 60_000, { stored: ['Look'], outgoing: [] }, kept(0)],
  ['it stays refused if it was refused, and can be retried or discarded', inBrowser,
    send(blank), 100, openAgain, { outgoing: [{ content: blank, state: 'refused', error: refusal }] },
    ({ chat }) => chat.retry(chat.view.outgoing[0]!.client_id), { outgoing: [{ state: 'sending', error: null }] },
    1000, { outgoing: [{ content: blank, state: 'refused', error: refusal }], posts: 2 },
    discard(), 100, { outgoing: [] }, kept(0)],
  ['so are read markers', inBrowser,
    hear('Read me'), 1000, offline, markRead, 100, leave, network(), openPage, { isComplete: true, readMarks: [true] }],
  ['so are drafts, until they are sent', inBrowser,
    ({ chat }) => Promise.all([chat.setDraft('Hel'), advance(10)]), openAgain, { draft: 'Hel' },
    ({ chat }) => Promise.all([chat.setDraft('Hello'), advance(10)]), send('Hello'), { draft: '' }, 1000, kept(0)],

  ['another user of the same browser does not see or send what this one has written', inBrowser,
    offline, send('From Ana'), draft('A draft of Ana'), 100, leave, network(), ({ openPage }) => openPage(2),
    60_000, { messages: [], ...empty }, ({ requestsWith }) => expect(requestsWith('POST')).toEqual([])],
  ...([['signs out', ({ client }) => client.signOut()], ['is replaced', ({ client }) => client.signIn(2)]] as
    [string, (scene: Scene) => void][]).map(([how, act]): Row => [
    `another user finds nothing after this one ${how}`, inBrowser,
    offline, sendPhoto, draft('A draft of Ana'), 100, kept(2), act, 100, nothing]),
  ['nor after this one signs out before what was left could be read', inBrowser,
    offline, sendPhoto, 100, kept(2), leave,
    ({ openPage }) => void openPage(), ({ client }) => client.signOut(), 2000, nothing],
  ['another user finds nothing even if the storage hung while this one signed out', inBrowser,
    fault({ latency: 40_000 }), draft('A draft of Ana'), 100, fault({ latency: 1 }),
    ({ client }) => client.signOut(), 60_000, nothing],
  ['nor if what it was writing without a transaction is there only after that', inBrowser, leave,
    openWithoutUpdate(late), offline, sendPhoto, draft('A draft of Ana'), 100, ({ client }) => client.signOut(),
    30_000, ({ origin }) => expect(origin.values.size).toBe(0), 60_000, nothing],
  ['another user finds nothing even if this one was writing in another page', inBrowser,
    openPage, turnTo(0), offline, send('From Ana'), 100, ({ client }) => client.signOut(),
    turnTo(1), send('Also from Ana'), ({ client }) => client.signOut(),
    send('Still from Ana'),
    60_000, nothing, ({ requestsWith }) => expect(requestsWith('POST')).toEqual([])],

  ['a file that is too large for the storage keeps nothing else from it', inBrowser,
    fault({ largestFile: 2 }), offline, sendPhoto, send('One'), 20_000, isDurable(true), leave, network(), openPage,
    60_000, { stored: ['One'], outgoing: [{ content: 'Look', state: 'refused' }] }],
  ...Object.entries({ 'is forbidden': { fails: true }, hangs: { hangs: true }, 'is full': { capacity: 10 } })
    .map(([what, faults]): Row => [
      `a storage that ${what} leaves all in memory and says so, and gets it as soon as it works again`, inBrowser,
      isDurable(true), fault(faults), offline, send('One'), 20_000, isDurable(false), network(), 60_000,
      { stored: ['One'] }, offline, send('Two'), draft('Three'), 20_000,
      fault({ fails: false, hangs: false, capacity: Infinity }), draft('Three!'), 10_000, isDurable(true),
      openAgain, { outgoing: [{ content: 'Two' }], draft: 'Three!' }]),
  ['so does one that has get, set and delete alone, where what hangs never ends', inBrowser, leave,
    openWithoutUpdate(), isDurable(true), fault({ hangs: true }), draft('One'), 20_000, isDurable(false),
    fault({ hangs: false }), draft('Two'), 10_000, isDurable(true), openAgain, { draft: 'Two' }],
  ['a photo that has arrived in Storage is sent although the storage of the page fails', inBrowser,
    fault({ fails: true }), sendPhoto,
    intercept((_, __, path) => /messages$/.test(path) ? new Response('', { status: 504 }) : null), 10_000,
    ({ files }) => expect(files.size).toBe(1), intercept(null), 60_000, { stored: ['Look'], outgoing: [] }],
  ['a storage that does not exist is memory, and says so', { storage: null },
    send('One'), 1000, isDurable(false), { stored: ['One'] }],
  ['a storage that is slow gets also what was written while it was saving', inBrowser,
    fault({ latency: 50 }), offline, send('One'), 40, send('Two'), 50, draft('Three'), 500,
    openAgain, { outgoing: [{ content: 'One' }, { content: 'Two' }], draft: 'Three' }],
  ['a storage that holds something else under the key is overwritten', inBrowser,
    draft('Hello'), 100, ...['text', 7, {}, { version: 0, unsent: { messages: 7 } }].flatMap((value) => [
      ({ inbox, origin }: Scene) => (inbox.close(), origin.values.set([...origin.values.keys()][0]!, value)),
      openPage, { inbox: { isDurable: true, loaded: true }, ...empty }])],
  ['of what is damaged there the rest is sent', inBrowser, offline, send('One', 'Two'), 100, leave,
    ({ origin: { values } }) => {
      const [key, { unsent }] = [...values].find(([key]) => isUnsent(key)) as [string, { unsent: { messages: [] } }]
      const drafts = { 6: 5, 7: { text: 'x' } }
      const damaged = { messages: [null, {}, ...unsent.messages], readMarkers: { 7: 'x' }, drafts }
      values.set(key, { version: 1, unsent: damaged })
    }, network(), openPage, 60_000, { stored: ['One', 'Two'], ...empty }, kept(0)],
  ['a storage that has get, set and delete alone keeps what two pages write at once', inBrowser,
    openWithoutUpdate(), openWithoutUpdate(),
    offline, ({ pages }) => { for (const { chat } of pages.slice(1)) for (const text of '01234') void chat.send(text) },
    1000, ({ pages }) => { for (const { inbox } of pages) inbox.close() }, network(), openPage,
    60_000, ({ table }) => expect(table).toHaveLength(10)],

  ['what two pages of one user send at once, when the network is back, is stored once', inBrowser,
    openPage, turnTo(0), offline, send('Once', 'Twice'), 1000, network({ latency: 500 }),
    ({ page }) => page.tell('online'), 10_000,
    ({ requestsWith }) => expect(requestsWith('POST').length).toBeGreaterThan(2),
    { answers: ['Once', 'Twice'], stored: ['Once', 'Twice'], isComplete: true, outgoing: [] },
    turnTo(1), { isComplete: true, outgoing: [] }, kept(0)],
  ['a message is sent by the page that is left, and its promise resolves where it was written', inBrowser,
    // The first page waits before its next try.
    intercept(() => new Response('<h1>Log in to this network</h1>', { status: 511 })), send('Once'), 100,
    intercept(null), openPage, { stored: ['Once'], answers: ['Once'] },
    60_000, { posts: 1 }, turnTo(0), { isComplete: true, outgoing: [] }],
  ['a page that was suspended while it was sending does not hold up the other for ever', inBrowser,
    openPage, turnTo(0), network({ latency: 1e9 }), send('One'), 10, network(),
    turnTo(1), send('Two'), 25_000,
    { stored: ['One', 'Two'], answers: [expect.anything(), 'Two'] }],
  ['what two pages send at once is stored once each', inBrowser,
    openPage, turnTo(0), network({ latency: 500 }), send('One'), turnTo(1), send('Other'), 30_000,
    ({ table }) => expect(table).toHaveLength(2), { answers: ['One', 'Other'], isComplete: true, outgoing: [] },
    turnTo(0), { isComplete: true, outgoing: [] }],
  ['discarding in one page keeps the other from sending it', inBrowser,
    openPage, turnTo(0), offline, send('Never mind'), 1000,
    turnTo(1), ({ page }) => page.show('visible'), 100, { outgoing: [{ content: 'Never mind' }] }, discard(), 1000,
    turnTo(0), network(),
    60_000, { answers: ['0 Discarded'], stored: [], outgoing: [] }],
  ['and from sending a photo that it uploads, or what comes after a message that it sends', { ...inBrowser, seed: 4 },
    openPage, turnTo(0), offline, sendPhoto, send('One', 'No'), 1000, network({ latency: 4000 }),
    ({ page }) => page.tell('online'), 1000, turnTo(1), discard(), 7000, discard(1), 60_000,
    { answers: ['One', '0 Discarded'], stored: ['One'], outgoing: [] }],
])

// A composer stores each draft and then sends it. Pages are killed at random moments, storages fail now and then, and
// the network is bad. What is shown as stored may neither be lost nor doubled; what is a draft after a kill is sent by
// the next page.
test.each(Array.from({ length: 15 }, (_, seed) => seed))(
  'of 40 messages from killed pages none is lost, doubled or reordered (seed %i)',
  async (seed) => {
    const random = seededRandom(seed)
    const simulator = createSimulator(seed)
    const origin = openOrigin()
    vi.stubGlobal('BroadcastChannel', FakeBroadcastChannel)
    vi.stubGlobal('navigator', seed % 3 ? { locks: fakeLocks() } : {})
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
    simulator.setNetwork({ eventLoss: 0.3 })
    await advance(120_000)
    expect(simulator.table.map(({ content }) => content)).toEqual(written)
    expect(page.chat.view).toMatchObject({ messages: simulator.table, outgoing: [], draft: '' })
    expect([...origin.values.keys()].filter(isUnsent)).toEqual([])
  },
)
