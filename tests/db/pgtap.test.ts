import { describe, expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

const env = { DATABASE_URL: process.env.PGTAP_DATABASE_URL ?? '' }
const output = await runScript<Record<string, string[]>>('tests/db/run.ts', [], env)

test('there are pgTAP files', () => expect(Object.keys(output).length).toBeGreaterThan(5))

describe.each(Object.entries(output))('%s', (_, lines) => {
  const assertions = lines.flatMap((line, index) => {
    const [, result, name] = /^(ok|not ok)(?: \d+)? - (.*)/s.exec(line) ?? []
    if (!result) return []
    const diagnostics = lines.slice(index + 1).join('\n').split(/^(?:not )?ok /m)[0]
    return [{ result, name, diagnostics }]
  })
  test('runs as many assertions as planned', () => {
    const planned = lines.map((line) => /^1\.\.(\d+)$/.exec(line)?.[1]).find(Boolean)
    expect(assertions.length).toBe(Number(planned))
    expect(assertions.length).toBeGreaterThan(0)
  })
  test.each(assertions.map((assertion) => [assertion.name, assertion] as const))('%s', (_, { result, diagnostics }) => {
    expect(result, diagnostics).toBe('ok')
  })
})
