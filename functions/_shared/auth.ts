import { createMiddleware } from 'hono/factory'
import { timingSafeEqual } from 'hono/utils/buffer'
import { actAs, type Rpc } from './rpc.ts'
import { withDocs } from './openapi.ts'
import { httpError } from './errors.ts'
import { consumeRateLimit } from './rate_limit.ts'
import type { RateName } from './setting_rules.ts'
import { project } from './settings.ts'
import { bearerToken, type Claims, verifyToken } from './token.ts'
import { readRequest, type Schemas, type Validated } from './validate.ts'

const unauthorised = (message: string, challenge: string): never =>
  httpError('unauthorized', message, { 'WWW-Authenticate': challenge })

/**
 * Requires a valid token, reads what `validate` reads, and counts the request: 401, 415, 413, 400, 429. API functions
 * run as the token's user, whose account must exist (401) and be active (403).
 */
export const asUser = <Given extends Schemas>(schemas: Given, limit?: RateName) =>
  withDocs(
    {
      ...schemas,
      security: [{ bearer: [] }],
      responses: { 401: ['No token, or one that is not valid', 'WWW-Authenticate'], 403: 'The account is deactivated' },
      codes: ['deactivated'],
    },
    createMiddleware<Validated<Given> & { Variables: { db: Rpc; claims: Claims; token: string } }>(async (c, next) => {
      const authorization = c.req.header('Authorization')
      if (!authorization) return unauthorised('A bearer token is needed', 'Bearer')
      const token = bearerToken(authorization)
      const claims = token ? await verifyToken(token) : null
      if (!token || !claims) return unauthorised('The token is not valid', 'Bearer error="invalid_token"')
      c.set('token', token)
      c.set('claims', claims)
      c.set('db', actAs(claims, true))
      await readRequest(c, schemas)
      if (limit) await consumeRateLimit(limit, claims.sub)
      await next()
    }),
  )

export const requireUser = asUser({})

/** API functions run as the token's user, or as anon where the token is absent or invalid or its user is not active. */
export const optionalUser = withDocs(
  { security: [{}, { bearer: [] }] },
  createMiddleware<{ Variables: { db: Rpc; claims: Claims | null } }>(async (c, next) => {
    const claims = await verifyToken(bearerToken(c.req.header('Authorization')) ?? '')
    c.set('claims', claims)
    c.set('db', actAs(claims, false))
    await next()
  }),
)

/** Ignores any token: API functions run as anon. */
export const anonymousUser = createMiddleware<{ Variables: { db: Rpc } }>(async (c, next) => {
  c.set('db', actAs(null, false))
  await next()
})

export const isSecretKey = async (key: string | undefined): Promise<boolean> => {
  if (!key) return false
  const same = await Promise.all(project.secretKeys.map((secret) => timingSafeEqual(secret, key)))
  return same.includes(true)
}

/** Requires the secret key: in `apikey`, as Supabase clients send it, or as a bearer token, as Prometheus does. */
export const requireSecretKey = withDocs(
  { security: [{ secretKey: [] }, { bearer: [] }], responses: { 401: ['Not the secret key', 'WWW-Authenticate'] } },
  createMiddleware(async (c, next) => {
    if (!await isSecretKey(c.req.header('apikey')) && !await isSecretKey(bearerToken(c.req.header('Authorization')))) {
      return unauthorised('The secret key is needed', 'Bearer')
    }
    await next()
  }),
)
