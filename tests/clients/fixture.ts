import { afterEach, beforeEach, vi } from 'vitest'
import { type Inbox, openInbox, type Options } from '../../clients/inbox.ts'
import { seededRandom } from '../tools/random.ts'
import { createSimulator } from './network_simulator.ts'

const opened: Inbox[] = []

/**
 * Fake timers and a seeded Math.random, which the client uses for jitter. Closes the inboxes of `openAs` after each
 * test.
 */
export const useFakeTime = (): void => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockImplementation(seededRandom(1))
  })
  afterEach(() => {
    for (const inbox of opened.splice(0)) inbox.close()
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
}

export const advance = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

/** Polling would hide a missed event. */
export const withoutPolling: Options = { poll: [1e8, 1e9] }

/** Opens an inbox and the conversation for this user, on a client of its own or the given one. */
export const openAs = (
  simulator: ReturnType<typeof createSimulator>,
  user: number,
  options?: Options,
  client = simulator.openClient(user),
) => {
  const inbox = openInbox(client, options)
  opened.push(inbox)
  return { client, inbox, chat: inbox.open(simulator.conversation) }
}

/** Ana with her inbox and the conversation with Bob open and loaded. `messages` is the number of messages from Bob. */
export const openFixture = async (options?: Options, messages = 0, seed = 1) => {
  const simulator = createSimulator(seed)
  for (let count = 1; count <= messages; count++) simulator.insertMessage(2, { content: `Message ${count}` })
  const ana = openAs(simulator, 1, options)
  await advance(1000)
  simulator.requests.length = 0
  ana.client.log.length = 0
  return { ...simulator, ...ana, simulator }
}

/** The fixture with Bob's client, inbox and conversation open as well. */
export const openBoth = async () => {
  const fixture = await openFixture()
  const bob = openAs(fixture.simulator, 2)
  await advance(1000)
  return { ...fixture, bob }
}
