import { createMiddleware } from 'hono/factory'
import { actAs, type Rpc } from './rpc.ts'
import { documents } from './openapi.ts'
import { httpError } from './errors.ts'
import { bearer, type Claims, verifyToken } from './token.ts'

export type UserContext = { Variables: { db: Rpc; claims: Claims; token: string } }
export type AnonymousContext = { Variables: { db: Rpc } }
export type OptionalUserContext = { Variables: { db: Rpc; claims: Claims | null } }

const unauthorised = (message: string, challenge: string): never =>
  httpError(401, message, { 'WWW-Authenticate': challenge })

/** A valid token is needed; the verbs run as its owner, who must be there (401) and active (403). */
export const requireUser = documents(
  {
    security: [{ bearer: [] }],
    responses: { 401: 'No token, or one that is not valid', 403: 'The account is deactivated' },
  },
  createMiddleware<UserContext>(async (c, next) => {
    const authorization = c.req.header('Authorization')
    if (!authorization) return unauthorised('A bearer token is needed', 'Bearer')
    const token = bearer(authorization)
    const claims = token ? await verifyToken(token) : null
    if (!token || !claims) return unauthorised('The token is not valid', 'Bearer error="invalid_token"')
    c.set('token', token)
    c.set('claims', claims)
    c.set('db', actAs(claims, true))
    await next()
  }),
)

/** A token makes the verbs run as its owner; without one, or with one that is not valid or whose owner is not active, they run as anon. */
export const optionalUser = documents(
  { security: [{}, { bearer: [] }] },
  createMiddleware<OptionalUserContext>(async (c, next) => {
    const token = bearer(c.req.header('Authorization'))
    const claims = token ? await verifyToken(token) : null
    c.set('claims', claims)
    c.set('db', actAs(claims, false))
    await next()
  }),
)

/** No token is needed and none is looked at: the verbs run as anon. */
export const anonymousUser = documents(
  {},
  createMiddleware<AnonymousContext>(async (c, next) => {
    c.set('db', actAs(null, false))
    await next()
  }),
)
