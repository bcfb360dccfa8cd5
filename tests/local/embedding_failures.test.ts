import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

test.concurrent.each(['throws at once', 'never answers'])(
  'if the embedding provider %s, searches run without a vector, the job is marked as failed, and the process goes on',
  async (failure) => {
    expect(await runScript('tests/local/embedding_failures.ts', [failure], {}, 40_000))
      .toEqual({ vector: null, made: 0, failed: [false] })
  },
)

test.concurrent.each([
  ['answers 400', true],
  ['answers 422', true],
  ['answers 400 to every text', false],
  ['answers 422 to every text', false],
  ['answers 401', false],
  ['answers 403', false],
  ['answers 404', false],
  ['answers 429', false],
  ['answers 500', false],
  ['answers 503', false],
])('if the provider %s, the attempt counts against the text: %s', async (failure, refused) => {
  expect(await runScript('tests/local/embedding_failures.ts', [failure], {}, 40_000))
    .toMatchObject({ made: 0, failed: [refused] })
})
