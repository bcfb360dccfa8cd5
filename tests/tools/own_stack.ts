import { afterAll, beforeAll, vi } from 'vitest'
import { startStack, stopStack } from './stack.ts'

export const databaseUrl = process.env.TEST_DATABASE_URL

type OwnStack = Awaited<ReturnType<typeof startStack>> & {
  /** What the stack has printed since it is ready. */
  output: string
}

/** Starts a stack with these settings for the tests of this file or block. */
export const useStack = (env: Record<string, string>): OwnStack => {
  const stack = { output: '' } as OwnStack
  beforeAll(async () => {
    Object.assign(stack, await startStack(env))
    for (const stream of [stack.process.stdout, stack.process.stderr]) {
      stream?.on('data', (text) => stack.output += text)
    }
    // The first who needs one makes the data folder that all others copy.
  })
  afterAll(() => stopStack(stack.process))
  return stack
}

/** The links e-mailed to an address, oldest first; the local stack prints them. */
export const mailedLinks = async (stack: { output: string }, email: string, count = 1): Promise<string[]> => {
  const links = () =>
    stack.output.split(`To: ${email.toLowerCase()}\n`).slice(1)
      .flatMap((mail) => mail.match(/http\S+(verify\?|#token_hash=)\S+(?=\s)/)?.[0] ?? [])
  await vi.waitUntil(() => links().length >= count, { timeout: 30_000 })
  return links()
}
