import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a body that breaks off is no fault of ours, whether or not it said how long it would be', async () => {
  const { stdout } = await promisify(execFile)('node_modules/.bin/deno', ['run', '-A', 'tests/local/body_ends.ts'])
  expect(JSON.parse(stdout)).toEqual({ status: 400, body: { error: 'The body ended too soon' }, lines: [] })
})
