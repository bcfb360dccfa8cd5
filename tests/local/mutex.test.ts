import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

const readConcurrently = (mode: 'mutex' | 'no-mutex') =>
  runScript<{ reads: number; wrong: number }>('tests/local/concurrent_reads.ts', [mode])

test('with the mutex concurrent callers read their own rows', async () => {
  expect(await readConcurrently('mutex')).toEqual({ reads: 400, wrong: 0 })
})

test('without the mutex the same reads return rows of others, so the test above can fail', async () => {
  const { reads, wrong } = await readConcurrently('no-mutex')
  expect(reads).toBe(400)
  expect(wrong).toBeGreaterThan(0)
})
