import { beforeAll, expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

interface Reads {
  reads: number
  wrong: number
}

let found: { withMutex: Reads; withoutMutex: Reads }
beforeAll(async () => {
  found = await runScript('tests/local/concurrent_reads.ts', [], { LITE_AUTH_BCRYPT_COST: '4' })
})

test('with the mutex concurrent callers read their own rows', () => {
  expect(found.withMutex).toEqual({ reads: 400, wrong: 0 })
})

test('without the mutex the same reads return rows of others, so the test above can fail', () => {
  expect(found.withoutMutex.reads).toBe(400)
  expect(found.withoutMutex.wrong).toBeGreaterThan(0)
})
