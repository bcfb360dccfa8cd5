// What ACCESS_LOG makes a function log. Hosted functions may print 100 lines in ten seconds.
import { describe, expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

type Name = 'ok' | 'refused' | 'failed' | 'slow'

const logged = (value: string | undefined) =>
  runScript<Name[]>('tests/local/access_log.ts', [], value === undefined ? {} : { ACCESS_LOG: value })

describe('the log has a line for', () => {
  test.each<[string | undefined, Name[]]>([
    ['all', ['ok', 'refused', 'failed', 'slow']],
    ['slow', ['failed', 'slow']],
    ['errors', ['failed']],
    ['off', []],
    // Hosted, where nothing is set.
    [undefined, ['failed', 'slow']],
  ])('ACCESS_LOG=%s', async (value, expected) => {
    expect(await logged(value)).toEqual(expected)
  })
})
