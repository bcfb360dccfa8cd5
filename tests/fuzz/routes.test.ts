import { beforeAll, describe, expect, inject, test } from 'vitest'
import { operations } from '../tools/openapi.ts'
import type { Fixture } from './arbitraries.ts'
import { fuzz, newTally } from './run.ts'
import { makeFixture } from './fixture.ts'

const { base } = inject('stack')

// FUZZ is the number of requests for each of two seeds. Without it some hundred check that the fuzzer and the document
// still agree.
const requests = Number(process.env.FUZZ ?? 400)
const seeds = process.env.FUZZ ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
const runs = Math.ceil(requests / operations.length)

describe.each(seeds)('with the seed %i', (seed) => {
  let fixture: Fixture
  let secrets: string[]
  beforeAll(async () => {
    ;({ fixture, secrets } = await makeFixture())
  })

  test.concurrent.each(operations)('$name answers as documented, whatever the request', async (operation) => {
    const tally = newTally()
    expect(await fuzz(operation, { base, fixture, secrets, runs, seed, tally })).toBeNull()
    // TALLY=1 prints the requests and answers by kind.
    if (process.env.TALLY) console.log(operation.name, JSON.stringify(tally))
    // With enough requests each route must have received valid and invalid ones, and answered with success.
    if (runs < 100) return
    const takesInput = operation.body || operation.parameters.some((parameter) => parameter.in !== 'header')
    expect(tally.valid, JSON.stringify(tally)).toBeGreaterThan(runs / 4)
    expect(takesInput ? tally.invalid : tally.undetermined, JSON.stringify(tally)).toBeGreaterThan(runs / 50)
    expect(Object.keys(tally.statuses).some((status) => status.startsWith('2')), JSON.stringify(tally)).toBe(true)
  }, 60 * 60_000)
})
