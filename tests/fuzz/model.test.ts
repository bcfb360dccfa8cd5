import { describe, test } from 'vitest'
import { databaseUrl, useStack } from '../tools/own_stack.ts'
import { firstContactLimit } from './model/model.ts'
import { runModel } from './model/run.ts'

const full = Number(process.env.FUZZ ?? 0)
const seeds = full ? [42, Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)] : [42]
// A run has 50 commands and starts with new users.
const runs = full ? Math.ceil(full / 400) : 2

const stack = useStack({
  ...{ FIRST_CONTACT_LIMIT: `${firstContactLimit}`, PARTNER_EMAIL: 'after_reply' },
  ...(databaseUrl && { DATABASE_URL: databaseUrl }),
})

describe.each(seeds)('with the seed %i', (seed) => {
  test.concurrent.each(full ? [0, 1, 2, 3] : [0, 1])(
    'the service behaves as the model, whatever users do (%i)',
    async (index) => {
      await runModel(stack.base, runs, seed + index, Boolean(full))
    },
    30 * 60_000,
  )
})
