import { createRemoteJWKSet, customFetch, decodeProtectedHeader, errors, type JWTPayload, jwtVerify } from 'jose'
import { serviceUnavailable } from './errors.ts'
import { settings } from './settings.ts'

/** Claims of a token that verified; `sub` is the id of the Auth account. */
export type Claims = JWTPayload & { sub: string; exp: number }

/** The token, or key, of an Authorization header. */
export const bearer = (authorization: string | undefined): string | undefined =>
  /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]

class KeysUnreachable extends Error {}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const asymmetric = ['ES256', 'RS256', 'EdDSA']

let publishedKeys: ReturnType<typeof createRemoteJWKSet> | undefined
const fetchPublishedKeys = () =>
  createRemoteJWKSet(new URL(`${settings.platformUrl}/auth/v1/.well-known/jwks.json`), {
    [customFetch]: async (url, init) => {
      // Whole, or not at all: of keys that stop halfway jose would say that the token is wrong.
      const keys = await fetch(url, init).then((response) => response.ok ? response.text() : null).catch(() => null)
      if (keys === null) throw new KeysUnreachable('Auth does not publish its keys')
      return new Response(keys)
    },
  })

const verify = async (token: string): Promise<Claims | null> => {
  const checks = { audience: 'authenticated', requiredClaims: ['sub', 'exp'] }
  const { alg } = decodeProtectedHeader(token)
  // The family of the key decides the algorithm, so a public key can never pass for a shared secret.
  const { payload } = alg === 'HS256' && settings.jwtSecret
    ? await jwtVerify(token, new TextEncoder().encode(settings.jwtSecret), { ...checks, algorithms: ['HS256'] })
    : await jwtVerify(token, publishedKeys ??= fetchPublishedKeys(), { ...checks, algorithms: asymmetric })
  // Not every Auth server writes `iss`; one that is there must be ours.
  if (payload.iss !== undefined && payload.iss !== settings.jwtIssuer) return null
  if (payload.role !== undefined && payload.role !== 'authenticated') return null
  return uuid.test(payload.sub ?? '') ? payload as Claims : null
}

// Verifying ES256 takes half a millisecond under Deno, a look into this map 0.1 µs. A minute bounds what a revoked key can do.
const seconds = 60
const capacity = 10_000
const verified = new Map<string, { claims: Claims; until: number }>()

/** The claims of a token, or null where it is none of ours: forged, expired, or meant for somebody else. */
export const verifyToken = async (token: string): Promise<Claims | null> => {
  const now = Date.now() / 1000
  const known = verified.get(token)
  if (known && known.until > now) return known.claims
  verified.delete(token)
  const claims = await verify(token).catch((error) => {
    // Keys that could not be fetched say nothing about the token.
    const isUnknown = error instanceof KeysUnreachable || error instanceof errors.JWKSTimeout
    return isUnknown ? serviceUnavailable() : null
  })
  if (!claims) return null
  if (verified.size >= capacity) verified.delete(verified.keys().next().value!)
  verified.set(token, { claims, until: Math.min(claims.exp, now + seconds) })
  return claims
}
