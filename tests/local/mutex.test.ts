import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const mixUps = async (gate: 'gated' | 'open'): Promise<{ reads: number; wrong: number }> => {
  const { stdout } = await promisify(execFile)('node_modules/.bin/deno', ['run', '-A', 'tests/local/mix_ups.ts', gate])
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

test('through the gate everybody reads their own row, however many read at once', async () => {
  expect(await mixUps('gated')).toEqual({ reads: 400, wrong: 0 })
})

test('without the gate the same reads mix people up, so the test above can fail', async () => {
  const { reads, wrong } = await mixUps('open')
  expect(reads).toBe(400)
  expect(wrong).toBeGreaterThan(0)
})
