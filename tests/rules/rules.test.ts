import { describe, expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'
import type { Result } from './fixture.ts'

const env = { DATABASE_URL: process.env.RULES_DATABASE_URL ?? '' }
const results = await runScript<Result[]>('tests/rules/run.ts', [], env)

test('there is a test of every file', () => expect(results.length).toBeGreaterThan(0))
describe.each([...new Set(results.map(({ file }) => file))])('%s', (file) => {
  test.each(results.filter((one) => one.file === file))('$name', ({ error }) => expect(error).toBeNull())
})
