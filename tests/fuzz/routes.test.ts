import { beforeAll, describe, expect, inject, test } from 'vitest'
import { operations } from '../tools/openapi.ts'
import type { World } from './arbitraries.ts'
import { fuzz, newTally } from './run.ts'
import { makeWorld } from './world.ts'

const { base } = inject('stack')

// FUZZ is how many requests each of the two seeds makes; without it some hundred show that the fuzzer and the document still agree.
const requests = Number(process.env.FUZZ ?? 400)
const seeds = process.env.FUZZ ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
const runs = Math.ceil(requests / operations.length)

describe.each(seeds)('with the seed %i', (seed) => {
  let world: World
  let secrets: string[]
  beforeAll(async () => {
    ;({ world, secrets } = await makeWorld())
  })

  test.concurrent.each(operations)('$name answers as its document says, whatever it is asked', async (operation) => {
    const tally = newTally()
    expect(await fuzz(operation, { base, world, secrets, runs, seed, tally })).toBeNull()
    // TALLY=1 shows what was asked and how it was answered.
    if (process.env.TALLY) console.log(operation.name, JSON.stringify(tally))
    // In a few requests chance decides what is met; in many, each route was asked well and badly, and has served somebody.
    if (runs < 100) return
    const isAskedFor = operation.body || operation.parameters.some((parameter) => parameter.in !== 'header')
    expect(tally.wholesome, JSON.stringify(tally)).toBeGreaterThan(runs / 4)
    expect(isAskedFor ? tally.wrong : tally.unclear, JSON.stringify(tally)).toBeGreaterThan(runs / 50)
    expect(Object.keys(tally.statuses).some((status) => status.startsWith('2')), JSON.stringify(tally)).toBe(true)
  }, 60 * 60_000)
})
