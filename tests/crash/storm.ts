import { once } from 'node:events'
import { freePort } from '../tools/ports.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'
import { openLoad } from './load.ts'
import { openProxy } from './proxy.ts'
import { verify } from './verify.ts'

type Stack = Awaited<ReturnType<typeof startStack>>

/** Crashes something, says when (`now`), and brings it up again; answers when it is up. */
export type Crash = (
  server: { kill: () => Promise<void>; start: () => Promise<void> },
  now: () => void,
) => Promise<void>

export const killServer: Crash = async ({ kill, start }, now) => {
  await kill()
  now()
  await start()
}

/** Sends so many messages while these crashes happen, one after the other, evenly spread; what was wrong, and the figures. */
export const storm = async (
  settings: Record<string, string>,
  sends: number,
  crashes: [name: string, crash: Crash][],
) => {
  const env = { ...settings, PORT: String(await freePort()) }
  let stack: Stack = await startStack(env)
  const proxy = await openProxy(stack.base, 0.01)
  const starts: number[] = []
  const server = {
    kill: async () => {
      const exited = once(stack.process, 'exit')
      stack.process.kill('SIGKILL')
      await exited
    },
    start: async () => {
      const before = performance.now()
      stack = await startStack(env)
      starts.push(performance.now() - before)
    },
  }
  try {
    const load = await openLoad(proxy.base, stack.base, sends)
    const { books } = load
    const began = performance.now()
    let isOver = false
    const running = load.run().finally(() => isOver = true)
    const crashing = async () => {
      for (const [index, [, crash]] of crashes.entries()) {
        while (books.acknowledged.length < (sends * (index + 0.5)) / crashes.length || !load.recovered()) {
          if (isOver) throw new Error('The messages ended before the crashes')
          if (stack.process.exitCode !== null) throw new Error('The stack ended by itself')
          await pause(5)
        }
        await pause(Math.random() * 50)
        await crash(server, load.crashed)
      }
    }
    await Promise.all([running, crashing()])
    const seconds = (performance.now() - began) / 1000
    const problems = await verify(stack.base, load)
    const worst = (times: number[]) => times.length ? Math.round(Math.max(...times)) : null
    const counted: Record<string, number> = {}
    for (const [name] of crashes) counted[name] = (counted[name] ?? 0) + 1
    const figures = {
      crashes: counted,
      cuts: proxy.cuts,
      acknowledged: books.acknowledged.length,
      unacknowledged: books.unacknowledged.length,
      retries: books.retries,
      replays: books.replays,
      profileChanges: books.changes,
      seconds: Math.round(seconds),
      recoveryMs: books.recoveries.map(Math.round).join(' '),
      worstRecoveryMs: worst(books.recoveries),
      worstStartMs: worst(starts),
    }
    if (process.env.CRASH_SENDS) console.log(JSON.stringify(figures, null, 2))
    return { problems, figures }
  } finally {
    proxy.close()
    await stopStack(stack.process)
  }
}

/** How much of it: a few crashes in every run of the tests, many in `npm run test:crash`. */
export const sends = Number(process.env.CRASH_SENDS || 1000)
export const timeout = process.env.CRASH_SENDS ? 3_600_000 : 240_000
