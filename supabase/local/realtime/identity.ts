import { errors, jwtVerify } from 'jose'
import { verifyToken } from '../../../functions/_shared/token.ts'
import type { Keys } from '../settings.ts'

/** An error that is sent to the client, as `Code: text`. */
export class RealtimeError extends Error {
  /** The message without the code. */
  get text(): string {
    return this.message.replace(/^\w+: /, '')
  }
}

/** The identity that the database's policies see. */
export interface Identity {
  token: string
  claims: Record<string, unknown> & { role: 'anon' | 'authenticated' | 'service_role' }
  /** In seconds; null for keys, which do not expire. */
  expiresAt: number | null
}

export const expiredMessage = (expiresAt: number): string =>
  `Token has expired ${Math.max(0, Math.floor(Date.now() / 1000 - expiresAt))} seconds ago`

const roles = ['anon', 'authenticated', 'service_role'] as const

/**
 * Verifies a JWT that was signed with the project's secret, whoever has issued it: a token, or a legacy API key, as
 * keys were before they began with sb_.
 */
const verifySigned = async (token: string, jwtSecret: string): Promise<Identity> => {
  try {
    const secret = new TextEncoder().encode(jwtSecret)
    const { payload } = await jwtVerify(token, secret, { algorithms: ['HS256'] })
    const { role, exp } = payload
    if (!role || !exp) throw new RealtimeError('InvalidJWTToken: Fields `role` and `exp` are required in JWT')
    const known = roles.find((name) => name === role)
    if (known) return { token, claims: { ...payload, role: known }, expiresAt: exp }
    throw new RealtimeError('JwtSignatureError: Failed to validate JWT signature')
  } catch (error) {
    if (error instanceof RealtimeError) throw error
    if (error instanceof errors.JWTExpired) {
      throw new RealtimeError(`InvalidJWTToken: ${expiredMessage(error.payload.exp ?? 0)}`)
    }
    const malformed = error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid
    throw new RealtimeError(
      malformed
        ? 'MalformedJWT: The token provided is not a valid JWT'
        : 'JwtSignatureError: Failed to validate JWT signature',
    )
  }
}

/** Identifies an API key or a user's token, which it verifies as the Edge Functions do; throws a RealtimeError. */
export const identifyWith = (keys: Keys) => async (token: string): Promise<Identity> => {
  if (token === keys.publishableKey) return { token, claims: { role: 'anon' }, expiresAt: null }
  if (token === keys.secretKey) return { token, claims: { role: 'service_role' }, expiresAt: null }
  const claims = await verifyToken(token).catch(() => null)
  if (claims) return { token, claims: { ...claims, role: 'authenticated' }, expiresAt: claims.exp }
  return await verifySigned(token, keys.jwtSecret)
}

/** Whether this is a user's token. For an sb_ key or no token the platform uses the key of the connection. */
export const isUserToken = (token: unknown): token is string =>
  typeof token === 'string' && token !== '' && !token.startsWith('sb_')
