import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'
import type { Result } from './checks.ts'

const results = await runScript<Result[]>('tests/local/checks.ts')

test('there are checks', () => expect(results.length).toBeGreaterThan(0))
test.each(results)('$name', ({ error }) => expect(error).toBeNull())
