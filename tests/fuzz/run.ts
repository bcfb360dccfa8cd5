import fc from 'fast-check'
import type { Operation } from '../tools/openapi.ts'
import type { Fixture } from './arbitraries.ts'
import { findViolations } from './violations.ts'
import { type GeneratedRequest, requestsFor } from './requests.ts'
import { type HttpResponse, openHttpClient } from '../tools/http_client.ts'

/** The requests to a route by kind, and its answers by status. */
export interface Tally {
  valid: number
  invalid: number
  /** The document does not say whether they are valid. */
  undetermined: number
  statuses: Record<number, number>
}

export interface Run {
  base: string
  fixture: Fixture
  runs: number
  seed: number
  secrets?: string[]
  tally?: Tally
}

/** No response for twenty seconds counts as a hang, however busy the machine is. */
export const send = openHttpClient(20_000, 8)

export const newTally = (): Tally => ({ valid: 0, invalid: 0, undetermined: 0, statuses: {} })

const count = (tally: Tally, { valid, faults }: GeneratedRequest, { status }: HttpResponse): void => {
  tally[valid ? 'valid' : faults.length > 0 ? 'invalid' : 'undetermined']++
  tally.statuses[status] = (tally.statuses[status] ?? 0) + 1
}

const describeRequest = ({ method, path, headers, body }: GeneratedRequest): string => {
  const lines = Object.entries(headers).map(([name, value]) => `  ${name}: ${value.slice(0, 200)}`)
  return [`${method} ${path}`, ...lines, ...(body === undefined ? [] : [`  ${body.slice(0, 1000)}`])].join('\n')
}

/** Sends `runs` requests to a route; returns the smallest one that causes a violation, with the violation, or null. */
export const fuzz = async (
  operation: Operation,
  { base, fixture, runs, seed, secrets = [], tally = newTally() }: Run,
): Promise<string | null> => {
  const check = async (request: GeneratedRequest) => {
    const response = await send(base, request)
    count(tally, request, response)
    const found = findViolations(operation, request, response, secrets)
    if (found.length > 0) throw new Error(`${describeRequest(request)}\n${found.join('\n')}`)
  }
  // Stop shrinking after this.
  const options = { numRuns: runs, seed, interruptAfterTimeLimit: 50 * 60_000, markInterruptAsFailure: true }
  const outcome = await fc.check(fc.asyncProperty(requestsFor(operation, fixture), check), options)
  if (!outcome.failed) return null
  const { message } = outcome.errorInstance as Error ?? { message: 'interrupted' }
  const { counterexamplePath, numShrinks } = outcome
  return `${operation.name}, seed ${seed}, path ${counterexamplePath}, shrunk ${numShrinks} times\n${message}`
}
