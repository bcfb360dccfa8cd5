import { createMiddleware } from 'hono/factory'
import { actAs, type Verbs } from './database.ts'
import { documents } from './openapi.ts'
import { refuse } from './problem.ts'
import { bearer, type Claims, verifyToken } from './token.ts'

export type Known = { Variables: { db: Verbs; claims: Claims; token: string } }
export type Anybody = { Variables: { db: Verbs } }
export type Perhaps = { Variables: { db: Verbs; claims: Claims | null } }

const unauthorised = (message: string, challenge: string): never =>
  refuse(401, message, { 'WWW-Authenticate': challenge })

/** A valid token is needed; the verbs run as its owner, who must be there (401) and active (403). */
export const knownCaller = documents(
  {
    security: [{ bearer: [] }],
    responses: { 401: 'No token, or one that is not valid', 403: 'The account is deactivated' },
  },
  createMiddleware<Known>(async (c, next) => {
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
export const maybeCaller = documents(
  { security: [{}, { bearer: [] }] },
  createMiddleware<Perhaps>(async (c, next) => {
    const token = bearer(c.req.header('Authorization'))
    const claims = token ? await verifyToken(token) : null
    c.set('claims', claims)
    c.set('db', actAs(claims, false))
    await next()
  }),
)

/** No token is needed and none is looked at: the verbs run as anon. */
export const anyCaller = documents(
  {},
  createMiddleware<Anybody>(async (c, next) => {
    c.set('db', actAs(null, false))
    await next()
  }),
)
