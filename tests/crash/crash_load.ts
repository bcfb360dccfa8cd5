import { once } from 'node:events'
import { freePort } from '../tools/ports.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'
import { openLoad } from './load.ts'
import { openProxy } from './proxy.ts'
import { verify } from './verify.ts'

type Stack = Awaited<ReturnType<typeof startStack>>

/** Crashes a process, calls `onCrash`, and restarts it; resolves when it is up. */
export type Crash = (
  server: { kill: () => Promise<void>; start: () => Promise<void> },
  onCrash: () => void,
) => Promise<void>

export const killServer: Crash = async ({ kill, start }, onCrash) => {
  await kill()
  onCrash()
  await start()
}

/** Sends messages while these crashes happen, evenly spread. Returns the violations and the figures. */
export const runCrashLoad = async (
  settings: Record<string, string>,
  sends: number,
  crashes: [name: string, crash: Crash][],
) => {
  const env = { ...settings, PORT: String(await freePort()) }
  let stack: Stack = await startStack(env)
  const proxy = await openProxy(stack.base, 0.01)
  const startTimes: number[] = []
  const server = {
    kill: async () => {
      const exited = once(stack.process, 'exit')
      stack.process.kill('SIGKILL')
      await exited
    },
    start: async () => {
      const before = performance.now()
      stack = await startStack(env)
      startTimes.push(performance.now() - before)
    },
  }
  try {
    const load = await openLoad(proxy.base, stack.base, sends)
    const { ledger } = load
    const began = performance.now()
    let isOver = false
    const running = load.run().finally(() => isOver = true)
    const crashAll = async () => {
      for (const [index, [, crash]] of crashes.entries()) {
        while (ledger.acknowledged.length < (sends * (index + 0.5)) / crashes.length || !load.recovered()) {
          if (isOver) throw new Error('The messages ended before the crashes')
          if (stack.process.exitCode !== null) throw new Error('The stack ended by itself')
          await pause(5)
        }
        await pause(Math.random() * 50)
        await crash(server, load.crashed)
      }
    }
    await Promise.all([running, crashAll()])
    const seconds = (performance.now() - began) / 1000
    const violations = await verify(stack.base, load)
    const worst = (times: number[]) => times.length ? Math.round(Math.max(...times)) : null
    const counts: Record<string, number> = {}
    for (const [name] of crashes) counts[name] = (counts[name] ?? 0) + 1
    const figures = {
      crashes: counts,
      droppedConnections: proxy.dropped,
      acknowledged: ledger.acknowledged.length,
      unacknowledged: ledger.unacknowledged.length,
      retries: ledger.retries,
      replays: ledger.replays,
      profileChanges: ledger.changes,
      seconds: Math.round(seconds),
      recoveryMs: ledger.recoveries.map(Math.round).join(' '),
      worstRecoveryMs: worst(ledger.recoveries),
      worstStartMs: worst(startTimes),
    }
    if (process.env.CRASH_SENDS) console.log(JSON.stringify(figures, null, 2))
    return { violations, figures }
  } finally {
    proxy.close()
    await stopStack(stack.process)
  }
}

/** Every test run has a few crashes, `npm run test:crash` many. */
export const sends = Number(process.env.CRASH_SENDS || 1000)
export const timeout = process.env.CRASH_SENDS ? 3_600_000 : 240_000
