import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

test('a truncated body is 400 and is not logged as an error, also without a Content-Length', async () => {
  expect(await runScript('tests/local/truncated_body.ts'))
    .toEqual({ status: 400, body: { error: 'The body ended too soon' }, lines: [] })
})
