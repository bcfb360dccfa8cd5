import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import type { JWK } from 'jose'

// As on the platform: Auth signs with ES256, and API keys are no tokens.
const { privateKey } = await generateKeyPair('ES256', { extractable: true })
export const signingKey: JWK = {
  ...await exportJWK(privateKey),
  kid: 'platform-test',
  alg: 'ES256',
  use: 'sig',
  key_ops: ['sign', 'verify'],
}
const { d: _, ...published } = signingKey
export const publicKey: JWK = { ...published, key_ops: ['verify'] }

export const publishableKey = 'sb_publishable_platform'
export const secretKey = 'sb_secret_platform'

/** What the platform's gateway makes of an API key: a token of this role. */
export const roleToken = (role: 'anon' | 'service_role'): Promise<string> =>
  new SignJWT({ role }).setProtectedHeader({ alg: 'ES256', kid: signingKey.kid! }).setExpirationTime('2h')
    .sign(privateKey)
