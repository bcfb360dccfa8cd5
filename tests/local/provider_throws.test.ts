import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test.concurrent.each(['throws at once', 'never answers'])(
  'where the maker of vectors %s, searches do without, the queue notes it, and the process goes on',
  async (how) => {
    const script = ['run', '-A', 'tests/local/provider_throws.ts', how]
    const { stdout } = await promisify(execFile)('node_modules/.bin/deno', script, { timeout: 40_000 })
    expect(JSON.parse(stdout)).toEqual({ vector: null, made: 0, failed: 1 })
  },
)
