import { expect, test } from 'vitest'
import { run } from '../tools/supabase.ts'

test('a process survives the cut of its connections, each told once, and no other fault', async () => {
  const { code, stdout } = await run('deno', ['run', '-A', 'tests/local/connection_loss.ts'])
  expect({ code, lines: stdout.trim().split('\n') }).toEqual({ code: 1, lines: ['told', 'told', 'alive'] })
})
