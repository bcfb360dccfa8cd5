import { afterEach, beforeEach, vi } from 'vitest'
import { openInbox, type Options } from '../../clients/inbox.ts'
import { numbersFrom } from '../tools/random.ts'
import { openWorld } from './world.ts'

/** Each test of the file has a clock that stands still until it is moved, and the same luck in each run, for how long clients wait is chance. */
export const onFakeTime = (): void => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.spyOn(Math, 'random').mockImplementation(numbersFrom(1))
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    vi.unstubAllGlobals()
  })
}

export const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds)

/** Ana with her inbox and the conversation with Bob open, and all at rest. */
export const atRest = async (options?: Options, messages = 0) => {
  const ocean = openWorld()
  for (let count = 1; count <= messages; count++) ocean.write(2, { content: `Message ${count}` })
  const client = ocean.openClient(1)
  const inbox = openInbox(ocean.asClient(client), options)
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  ocean.requests.length = 0
  client.log.length = 0
  return { ...ocean, client, inbox, chat }
}
