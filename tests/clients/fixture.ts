import { isDeepStrictEqual } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Inbox, openInbox, type Options } from '../../clients/inbox.ts'
import { seededRandom } from '../tools/random.ts'
import { FakeBroadcastChannel, fakeLocks, fakePage, openOrigin } from './browser_fakes.ts'
import { createSimulator, type Interceptor, type Network } from './network_simulator.ts'

type Simulator = ReturnType<typeof createSimulator>
const opened: Inbox[] = []

/**
 * Fake timers, and a seeded Math.random, which the client uses for jitter: what takes a second does so on a busy
 * machine too. Closes all inboxes after each test.
 */
export const useFakeTime = (): void => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockImplementation(seededRandom(1))
  })
  afterEach(() => {
    for (const inbox of opened.splice(0)) inbox.close()
    FakeBroadcastChannel.open.clear()
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
}

export const advance = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

/** Polling would hide a missed event. */
export const withoutPolling: Options = { poll: [1e8, 1e9] }

/** Opens an inbox and the conversation for this user, on a client of its own or the given one. */
export const openAs = (simulator: Simulator, user: number, options?: Options, client = simulator.openClient(user)) => {
  const inbox = openInbox(client, options)
  opened.push(inbox)
  return { client, inbox, chat: inbox.open(simulator.conversation) }
}

export interface Given extends Options {
  /** How many messages Bob has sent before. */
  messages?: number
  seed?: number
  /** Whether Bob has the conversation open too. */
  bob?: true
  /** Whether Ana's pages are in a browser: with a document, and with a storage and locks that they share. */
  browser?: true
}
type Page = ReturnType<typeof openAs> & Partial<ReturnType<ReturnType<typeof openOrigin>['openPage']>>
export type Scene = Simulator & Page & {
  simulator: Simulator
  bob?: Page
  page: ReturnType<typeof fakePage>
  origin: ReturnType<typeof openOrigin>
  /** What became of each message that Ana has sent: its text, or status and text of the error. */
  answers: string[]
  seen: Set<unknown>
  pages: Page[]
  /** Opens another page, which is then the one that acts and is looked at. */
  openPage: (user?: number, options?: Options) => Promise<unknown>
}
/** A time that passes, in milliseconds; something that somebody does; or what is seen then (`look`). */
export type Step = number | ((scene: Scene) => unknown) | Step[] | Record<string, unknown>

/** The view of the conversation, and what else a scene may tell. */
const look = ({ chat, inbox, client, bob, table, server, requests, answers, seen }: Scene) => ({
  ...chat.view,
  texts: chat.view.messages.map(({ content }) => content),
  readMarks: chat.view.messages.map(({ read }) => read),
  isComplete: isDeepStrictEqual(chat.view.messages, table),
  inbox: inbox.view,
  unread: inbox.view.unread,
  stored: table.map(({ content }) => content),
  requests,
  posts: requests.filter((request) => /^1 POST .*messages$/.test(request)).length,
  markers: requests.filter((request) => /^1 POST .*read$/.test(request)).length,
  intercepted: server.intercepted.length,
  topics: client.channels.map(({ topic }) => topic.replace('realtime:', '')),
  joins: client.log.filter((line) => line === 'subscribe user:1').length,
  refreshes: client.log.filter((line) => line === 'refreshSession').length,
  bob: bob?.chat.view,
  answers,
  seen: [...seen],
})

const openScene = async ({ messages, seed, bob, browser, ...options }: Given): Promise<Scene> => {
  const page = fakePage()
  if (browser) {
    vi.stubGlobal('BroadcastChannel', FakeBroadcastChannel)
    vi.stubGlobal('navigator', { locks: fakeLocks() })
    vi.stubGlobal('document', page.document)
    vi.stubGlobal('addEventListener', page.window.addEventListener)
  }
  const origin = openOrigin()
  const simulator = createSimulator(seed)
  for (let count = 1; count <= (messages ?? 0); count++) simulator.insertMessage(2, { content: `Message ${count}` })
  const pages: Page[] = []
  const openPage = async (user = 1, more: Options = {}) => {
    const kept = browser && origin.openPage()
    const opened = openAs(simulator, user, { ...options, ...(kept && { storage: kept.storage }), ...more })
    pages.push({ ...kept, ...opened })
    Object.assign(scene, pages.at(-1))
    await advance(1000)
  }
  const parts = { ...simulator, simulator, page, origin, pages, openPage, answers: [], seen: new Set() }
  const scene = parts as unknown as Scene
  await openPage()
  if (bob) scene.bob = openAs(simulator, 2)
  if (bob) await advance(1000)
  simulator.requests.length = scene.client.log.length = 0
  return scene
}

/** Ana with her inbox and the conversation with Bob open and loaded. `messages` is the number of messages from Bob. */
export const openFixture = (options: Options = {}, messages = 0, seed = 1) => openScene({ ...options, messages, seed })
export const openBoth = async () => {
  const scene = await openScene({ bob: true })
  return { ...scene, bob: scene.bob! }
}

/** A sentence, what is given, and what happens: faults, actions, and what is seen then. */
export type Row = [sentence: string, given: Given, ...steps: Step[]]
export const play = async (given: Given, steps: Step[]): Promise<void> => {
  const scene = await openScene(given)
  for (const [place, step] of steps.flat(9).entries()) {
    if (typeof step === 'number') await advance(step)
    else if (typeof step === 'function') await step(scene)
    else expect(look(scene), `step ${place + 1}`).toMatchObject(step)
  }
}
export const playAll = (rows: Row[]): void => {
  for (const [sentence, given, ...steps] of rows) test(sentence, () => play(given, steps))
}

export const repeat = (times: number, ...steps: Step[]): Step[] => Array<Step[]>(times).fill(steps)

// Steps.
/** The network has these faults from now on, and no others. */
export const network = (faults: Partial<Network> = {}) => ({ setNetwork }: Scene) => setNetwork(faults)
export const offline = network({ requestLoss: 1 })
export const overload = (retryAfter: number) => ({ setNetwork, server }: Scene) => {
  setNetwork({ overload: 1 })
  server.retryAfter = retryAfter
}
export const intercept = (respond: Interceptor | null) => ({ server }: Scene) => server.intercept = respond
/** What the answer to a send does not say. */
const unchanged = { editedAt: null, deletedAt: null }
export const send = (...texts: string[]) => ({ chat, answers, table }: Scene) => {
  for (const text of texts) {
    const place = answers.push('pending') - 1
    chat.send(text).then((message) => {
      const isStored = isDeepStrictEqual({ ...message, ...unchanged }, table.find(({ id }) => id === message.id))
      answers[place] = isStored ? message.content : 'not what is stored'
    }, ({ status, message }) => answers[place] = `${status} ${message}`)
  }
}
/** The service refuses this one. */
export const blank = ' '
export const refusal = { status: 400, message: 'content: must not be blank unless there is an attachment' }
/** Bob sends these. */
export const hear = (...texts: string[]) => ({ insertMessage }: Scene) => {
  for (const content of texts) insertMessage(2, { content })
}
export const discard = (place = 0) => ({ chat }: Scene) => chat.discard(chat.view.outgoing[place]!.client_id)
export const markRead = ({ chat }: Scene) => chat.markRead()
export const type = ({ chat }: Scene) => chat.typing()
export const bobTypes = ({ bob }: Scene) => bob!.chat.typing()
export const block = (blocker: number, isBlocked = true) => ({ setBlocked }: Scene) => setBlocked(blocker, isBlocked)
export const disconnect = ({ client }: Scene) => client.disconnect()
export const closeChannels = ({ client }: Scene) => client.closeChannels()
export const older = ({ chat }: Scene) => void chat.older()
export const leave = ({ inbox }: Scene) => inbox.close()
export const closeChat = ({ chat }: Scene) => chat.close()
export const forget = ({ requests, client }: Scene) => requests.length = client.log.length = 0
/** From now on `seen` has what this was after each change of the view. */
export const watch = (value: (scene: Scene) => unknown) => (scene: Scene) =>
  void scene.chat.subscribe(() => scene.seen.add(value(scene)))
