// A clock for a Deno process that stands still while anything can go on without it, so that response times are exact.
import { setImmediate } from 'node:timers'

let now = 0
const timers = new Map<number, { at: number; run: () => void }>()
let count = 0
const start = (run: () => void, milliseconds = 0): number => {
  timers.set(++count, { at: now + milliseconds, run })
  return count
}
const began = Date.now()
performance.now = () => now
Date.now = () => began + now
Object.assign(globalThis, { setTimeout: start, clearTimeout: (id: number) => timers.delete(id) })
AbortSignal.timeout = (milliseconds) => {
  const controller = new AbortController()
  start(() => controller.abort(new DOMException('The time is up', 'TimeoutError')), milliseconds)
  return controller.signal
}

export const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => start(resolve, milliseconds))

/** Everything that does not wait for the clock. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

/** Moves the clock on, timer by timer, until this work is done. */
export const elapse = async <Result>(work: Promise<Result>): Promise<Result> => {
  let isDone = false
  const done = () => void (isDone = true)
  work.then(done, done)
  for (await settle(); !isDone; await settle()) {
    const [first] = [...timers].toSorted(([, one], [, other]) => one.at - other.at)
    // Web Crypto works in threads of its own.
    if (!first) continue
    const [id, { at, run }] = first
    now = Math.max(now, at)
    timers.delete(id)
    run()
  }
  return await work
}

export const timed = async <Result>(work: Promise<Result>): Promise<Result & { took: number }> => {
  const start = now
  return { ...await work, took: now - start }
}
