import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('tokens signed with a key that Auth publishes are taken, and no others', async () => {
  const { stdout } = await promisify(execFile)('node_modules/.bin/deno', ['run', '-A', 'tests/local/signed_tokens.ts'])
  expect(JSON.parse(stdout)).toEqual({
    'ES256': true,
    'RS256': true,
    'ES256 of another key': false,
    'ES256 of an unknown key id': false,
    'HS256 with the public key for a secret': false,
  })
})
