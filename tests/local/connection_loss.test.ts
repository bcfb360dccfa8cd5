import { expect, test } from 'vitest'
import { run } from '../tools/supabase.ts'

test('a process survives the loss of its connections, logs each once, and does not survive other errors', async () => {
  const { code, stdout } = await run('deno', ['run', '-A', 'tests/local/connection_loss.ts'])
  expect({ code, lines: stdout.trim().split('\n') }).toEqual({ code: 1, lines: ['warned', 'warned', 'alive'] })
})
