import fc from 'fast-check'
import type { Operation } from '../tools/openapi.ts'
import type { World } from './arbitraries.ts'
import { offences } from './expectations.ts'
import { type Attempt, attempts } from './requests.ts'
import { type Got, send } from './wire.ts'

/** What a route was asked, and how it answered. */
export interface Tally {
  /** Requests with nothing wrong about their values; with something wrong; and those of which the document does not tell. */
  wholesome: number
  wrong: number
  unclear: number
  statuses: Record<number, number>
}

export interface Run {
  base: string
  world: World
  runs: number
  seed: number
  secrets?: string[]
  tally?: Tally
}

export const newTally = (): Tally => ({ wholesome: 0, wrong: 0, unclear: 0, statuses: {} })

const count = (tally: Tally, { wholesome, wrong }: Attempt, { status }: Got): void => {
  tally[wholesome ? 'wholesome' : wrong.length > 0 ? 'wrong' : 'unclear']++
  tally.statuses[status] = (tally.statuses[status] ?? 0) + 1
}

const shown = ({ method, path, headers, body }: Attempt): string => {
  const lines = Object.entries(headers).map(([name, value]) => `  ${name}: ${value.slice(0, 200)}`)
  return [`${method} ${path}`, ...lines, ...(body === undefined ? [] : [`  ${body.slice(0, 1000)}`])].join('\n')
}

/** Asks a route in so many ways; answers with the smallest request that went wrong and why, or null. */
export const fuzz = async (
  operation: Operation,
  { base, world, runs, seed, secrets = [], tally = newTally() }: Run,
): Promise<string | null> => {
  const check = async (attempt: Attempt) => {
    const got = await send(base, attempt)
    count(tally, attempt, got)
    const found = offences(operation, attempt, got, secrets)
    if (found.length > 0) throw new Error(`${shown(attempt)}\n${found.join('\n')}`)
  }
  // Shrinking that takes longer than this tells no more.
  const options = { numRuns: runs, seed, interruptAfterTimeLimit: 50 * 60_000, markInterruptAsFailure: true }
  const outcome = await fc.check(fc.asyncProperty(attempts(operation, world), check), options)
  if (!outcome.failed) return null
  const { message } = outcome.errorInstance as Error ?? { message: 'interrupted' }
  return `${operation.name}, seed ${seed}, path ${outcome.counterexamplePath}, shrunk ${outcome.numShrinks} times\n${message}`
}
