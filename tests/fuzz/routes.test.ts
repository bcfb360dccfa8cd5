import fc from 'fast-check'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { type HttpResponse, openHttpClient } from '../tools/http_client.ts'
import { internals } from '../tools/internals.ts'
import { faults, type Operation, operations } from '../tools/openapi.ts'
import { type Fixture, makeFixture } from './fixture.ts'
import { type GeneratedRequest, requestsFor } from './requests.ts'

const { base } = inject('stack')

// FUZZ is the number of requests for each of two seeds. Without it some hundred check that the fuzzer and the document
// still agree.
const requests = Number(process.env.FUZZ ?? 400)
const seeds = process.env.FUZZ ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
const runs = Math.ceil(requests / operations.length)

/** No answer for a minute counts as a hang, however busy the machine is. */
const send = openHttpClient(60_000, 8)

/** How an answer violates the document or the rules for every answer. */
const violationsOf = (
  operation: Operation,
  request: GeneratedRequest,
  { status, headers, text }: HttpResponse,
  secrets: string[],
): string[] => {
  const found: string[] = []
  const expect = (holds: boolean, violation: string) =>
    void (holds || found.push(`${violation}: ${text.slice(0, 300)}`))
  const documented = operation.headers[status] ?? {}
  expect(status < 500, `${status}`)
  expect(String(status) in operation.answers, `${status} is not documented`)
  expect(Boolean(headers['x-request-id']), 'no X-Request-Id')
  expect(secrets.every((secret) => !text.includes(secret)), 'contains data of another user')
  const schema = operation.answers[status]
  const type = operation.types[status] ?? ''
  if (schema) {
    expect(headers['content-type']?.includes(type) ?? false, `type ${headers['content-type']}`)
    try {
      found.push(...faults(schema, type === 'application/json' ? JSON.parse(text) : text, 'body', true))
    } catch {
      expect(false, `${status} with a body that is not JSON`)
    }
  } else expect(text === '', `${status} with a body`)
  for (const name of ['X-Request-Id', 'X-Error-Code', 'WWW-Authenticate', 'Allow', 'Link', 'Idempotency-Replayed']) {
    expect(name in documented || !headers[name.toLowerCase()], `${name} is not documented for ${status}`)
  }
  if (status >= 400) {
    const codes = documented['X-Error-Code']?.schema?.enum ?? []
    expect(codes.includes(headers['x-error-code']), `${status} with the X-Error-Code ${headers['x-error-code']}`)
    expect(!internals.test(text), 'exposes internals')
    expect(String(headers['cache-control']).includes('no-store'), 'allows caching an error')
  }
  if (status === 401 && operation.token !== 'ignored') {
    expect(/^Bearer/.test(String(headers['www-authenticate'])), 'no WWW-Authenticate')
  }
  // A cursor of one's own does not follow from its schema.
  const isComplete = request.valid && operation.name !== 'GET /conversations/changes'
  expect(!isComplete || ![400, 413, 415].includes(status), 'rejects a valid request')
  expect(request.faults.length === 0 || status >= 400, `accepts an invalid request: ${request.faults.join(', ')}`)
  return found
}
const describeRequest = ({ method, path, headers, body = '' }: GeneratedRequest): string =>
  [
    `${method} ${path}`,
    ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value.slice(0, 200)}`),
    `  ${body.slice(0, 1000)}`,
  ].join('\n')

describe.each(seeds)('with the seed %i', (seed) => {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await makeFixture()
  })

  test.concurrent.each(operations)('$name answers as documented, whatever the request', async (operation) => {
    const tally = { valid: 0, invalid: 0, undetermined: 0 }
    const statuses = new Set<number>()
    const check = async (request: GeneratedRequest) => {
      const response = await send(base, request)
      tally[request.valid ? 'valid' : request.faults.length > 0 ? 'invalid' : 'undetermined']++
      statuses.add(response.status)
      const found = violationsOf(operation, request, response, fixture.secrets)
      if (found.length > 0) throw new Error(`${describeRequest(request)}\n${found.join('\n')}`)
    }
    // Stop shrinking after this.
    const options = { numRuns: runs, seed, interruptAfterTimeLimit: 50 * 60_000, markInterruptAsFailure: true }
    await fc.assert(fc.asyncProperty(requestsFor(operation, fixture), check), options)
    expect(tally.valid + tally.invalid + tally.undetermined).toBe(runs)
    // With enough requests each route must have received valid and invalid ones, and answered with success.
    if (runs < 100) return
    const takesInput = operation.body || operation.parameters.some((parameter) => parameter.in !== 'header')
    expect(tally.valid, JSON.stringify(tally)).toBeGreaterThan(runs / 4)
    expect(takesInput ? tally.invalid : tally.undetermined, JSON.stringify(tally)).toBeGreaterThan(runs / 50)
    // Only a mail has a token to unsubscribe with.
    const canSucceed = runs >= 300 && !operation.path.endsWith('/unsubscribe')
    expect(!canSucceed || [...statuses].some((status) => status < 300), `${[...statuses]}`).toBe(true)
  }, 60 * 60_000)
})
