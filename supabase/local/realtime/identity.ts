import { errors, jwtVerify } from 'jose'
import { verifyToken } from '../../../functions/_shared/token.ts'
import type { Keys } from '../settings.ts'

/** A reason that a client is told, as `Code: message`. */
export class Refusal extends Error {
  /** Without the code. */
  get words(): string {
    return this.message.replace(/^\w+: /, '')
  }
}

/** Who somebody is to the database. */
export interface Identity {
  token: string
  claims: Record<string, unknown> & { role: 'anon' | 'authenticated' | 'service_role' }
  /** In seconds; keys do not expire. */
  expiresAt: number | null
}

/** What is told of a token that is out of date, whenever that is found out. */
export const expired = (expiresAt: number): string =>
  `Token has expired ${Math.max(0, Math.floor(Date.now() / 1000 - expiresAt))} seconds ago`

/** A token of the project that is no person's, as the keys were before they began with sb_; else the reason to refuse it. */
const verifyKey = async (token: string, jwtSecret: string): Promise<Identity> => {
  try {
    const secret = new TextEncoder().encode(jwtSecret)
    const { payload } = await jwtVerify(token, secret, { algorithms: ['HS256'] })
    const { role, exp } = payload
    if (!role || !exp) throw new Refusal('InvalidJWTToken: Fields `role` and `exp` are required in JWT')
    if (role === 'anon' || role === 'service_role') return { token, claims: { ...payload, role }, expiresAt: exp }
    throw new Refusal('JwtSignatureError: Failed to validate JWT signature')
  } catch (error) {
    if (error instanceof Refusal) throw error
    if (error instanceof errors.JWTExpired) throw new Refusal(`InvalidJWTToken: ${expired(error.payload.exp ?? 0)}`)
    const malformed = error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid
    throw new Refusal(
      malformed
        ? 'MalformedJWT: The token provided is not a valid JWT'
        : 'JwtSignatureError: Failed to validate JWT signature',
    )
  }
}

/** Tells who brings a key or a token; throws a Refusal for what is neither. People's tokens are verified as the doors verify them. */
export const identifyWith = (keys: Keys) => async (token: string): Promise<Identity> => {
  if (token === keys.publishableKey) return { token, claims: { role: 'anon' }, expiresAt: null }
  if (token === keys.secretKey) return { token, claims: { role: 'service_role' }, expiresAt: null }
  const claims = await verifyToken(token).catch(() => null)
  if (claims) return { token, claims: { ...claims, role: 'authenticated' }, expiresAt: claims.exp }
  return await verifyKey(token, keys.jwtSecret)
}

/** The platform takes an sb_ key, and no token at all, for the key that the client connected with. */
export const isPersonal = (token: unknown): token is string =>
  typeof token === 'string' && token !== '' && !token.startsWith('sb_')
