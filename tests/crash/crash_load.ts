import { once } from 'node:events'
import { expect } from 'vitest'
import { freePort } from '../tools/ports.ts'
import { startStack, stopStack } from '../tools/stack.ts'
import { openTcpProxy } from '../tools/tcp_proxy.ts'
import { pause } from '../tools/wait.ts'
import { openLoad } from './load.ts'
import { verify } from './verify.ts'

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

/** Every test run has a few crashes among some hundred messages, `npm run test:crash` many. */
const sends = Number(process.env.CRASH_SENDS || 500)
export const timeout = process.env.CRASH_SENDS ? 3_600_000 : 600_000

/** A proxy that drops this share of connections: right after the request, or when the response arrives. */
const openProxy = async (target: string, share: number) => {
  const dropped = { afterRequest: 0, beforeResponse: 0 }
  const { url, close } = await openTcpProxy(new URL(target), (client, server) => {
    let dropsResponse = false
    const drop = (when: keyof typeof dropped) => {
      dropped[when]++
      client.destroy()
      return false
    }
    return {
      request: (bytes) => {
        const chance = Math.random()
        dropsResponse = chance < share / 2
        if (dropsResponse || chance >= share) return true
        // The server gets the whole request, but the client no response.
        server.end(bytes)
        return drop('afterRequest')
      },
      answer: () => !dropsResponse || drop('beforeResponse'),
    }
  })
  return { base: url, dropped, close }
}

/** Sends messages while these crashes happen, evenly spread. Returns the violations and the figures. */
export const runCrashLoad = async (settings: Record<string, string>, crashes: [name: string, crash: Crash][]) => {
  const env = { ...settings, PORT: String(await freePort()) }
  let stack = await startStack(env)
  const proxy = await openProxy(stack.base, 0.02)
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
    for (const [index, [, crash]] of crashes.entries()) {
      while (ledger.acknowledged.length < (sends * (index + 0.5)) / crashes.length || !load.recovered()) {
        if (isOver) throw new Error('The messages ended before the crashes')
        if (stack.process.exitCode !== null) throw new Error('The stack ended by itself')
        await pause(5)
      }
      await pause(Math.random() * 50)
      await crash(server, load.crashed)
    }
    await running
    const seconds = Math.round((performance.now() - began) / 1000)
    const violations = await verify(stack.base, load)
    const { acknowledged, unacknowledged, retries, replays, changes, recoveries } = ledger
    const figures = {
      crashes: Object.fromEntries(crashes.map(([name]) => [name, crashes.filter(([one]) => one === name).length])),
      droppedConnections: proxy.dropped,
      acknowledged: acknowledged.length,
      unacknowledged: unacknowledged.length,
      ...{ retries, replays, profileChanges: changes, seconds },
      recoveryMs: recoveries.map(Math.round).join(' '),
      worstStartMs: Math.round(Math.max(0, ...startTimes)),
    }
    if (process.env.CRASH_SENDS) console.log(JSON.stringify(figures, null, 2))
    return { violations, figures }
  } finally {
    proxy.close()
    await stopStack(stack.process)
  }
}

export const expectNoLoss = ({ violations, figures }: Awaited<ReturnType<typeof runCrashLoad>>): void => {
  expect(violations).toEqual([])
  expect(figures.acknowledged).toBeGreaterThanOrEqual(sends)
  expect(figures.droppedConnections.afterRequest + figures.droppedConnections.beforeResponse).toBeGreaterThan(0)
}
