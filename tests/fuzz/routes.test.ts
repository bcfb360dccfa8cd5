import { beforeAll, describe, expect, inject, test } from 'vitest'
import { operations } from '../tools/openapi.ts'
import type { World } from './arbitraries.ts'
import { fuzz } from './run.ts'
import { makeWorld } from './world.ts'

const { base } = inject('stack')

// FUZZ is how many requests each of the two seeds makes; without it some hundred show that the fuzzer and the document still agree.
const requests = Number(process.env.FUZZ ?? 400)
const seeds = process.env.FUZZ ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
const runs = Math.ceil(requests / operations.length)

let world: World
let secrets: string[]
beforeAll(async () => {
  ;({ world, secrets } = await makeWorld())
})

describe.each(seeds)('with the seed %i', (seed) => {
  test.concurrent.each(operations)('$name answers as its document says, whatever it is asked', async (operation) => {
    expect(await fuzz(operation, { base, world, secrets, runs, seed })).toBeNull()
  }, 60 * 60_000)
})
