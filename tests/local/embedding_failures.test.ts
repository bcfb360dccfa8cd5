import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

test.concurrent.each(['throws at once', 'never answers'])(
  'if the embedding provider %s, searches run without a vector, the job is marked as failed, and the process goes on',
  async (failure) => {
    expect(await runScript('tests/local/embedding_failures.ts', [failure], {}, 40_000))
      .toEqual({ vector: null, made: 0, failed: 1 })
  },
)
