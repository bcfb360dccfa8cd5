import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'
import { copyPreparedData } from '../tools/stack.ts'
import type { Result } from './checks.ts'

const PREPARED_DATA = await copyPreparedData()
const results = await runScript<Result[]>('tests/local/checks.ts', [], { PREPARED_DATA })
rmSync(PREPARED_DATA, { recursive: true })

test('there are checks', () => expect(results.length).toBeGreaterThan(0))
test.each(results)('$name', ({ error }) => expect(error).toBeNull())
