import { createMiddleware } from 'hono/factory'
import { timingSafeEqual } from 'hono/utils/buffer'
import { withDocs, withHeaders } from './openapi.ts'
import { httpError } from './errors.ts'
import { project } from './settings.ts'
import { bearerToken } from './token.ts'

export const isSecretKey = async (key: string | undefined): Promise<boolean> => {
  if (!key) return false
  const same = await Promise.all(project.secretKeys.map((secret) => timingSafeEqual(secret, key)))
  return same.includes(true)
}

/** Requires the secret key: in `apikey`, as Supabase clients send it, or as a bearer token, as Prometheus does. */
export const requireSecretKey = withDocs(
  {
    security: [{ secretKey: [] }, { bearer: [] }],
    responses: { 401: withHeaders('Not the secret key', 'WWW-Authenticate') },
  },
  createMiddleware(async (c, next) => {
    if (!await isSecretKey(c.req.header('apikey')) && !await isSecretKey(bearerToken(c.req.header('Authorization')))) {
      httpError('unauthorized', 'The secret key is needed', { 'WWW-Authenticate': 'Bearer' })
    }
    await next()
  }),
)
