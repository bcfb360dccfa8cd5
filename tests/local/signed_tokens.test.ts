import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

test('tokens signed with a key that Auth publishes are accepted, and no others', async () => {
  expect(await runScript('tests/local/signed_tokens.ts')).toEqual({
    'ES256': true,
    'RS256': true,
    'ES256 of another key': false,
    'ES256 of an unknown key id': false,
    'HS256 with the public key for a secret': false,
  })
})
