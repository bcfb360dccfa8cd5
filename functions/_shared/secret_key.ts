import { createMiddleware } from 'hono/factory'
import { withDocs, withHeaders } from './openapi.ts'
import { httpError } from './errors.ts'
import { project } from './settings.ts'
import { bearerToken } from './token.ts'

/** Whether the value is a secret key of the project. */
export const isSecretKey = async (key: string | undefined): Promise<boolean> => {
  if (!key) return false
  const digest = async (value: string) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(value)))
  const given = await digest(key)
  let same = false
  // A constant-time comparison: digests have equal length, and the loop does not stop early.
  for (const secret of project.secretKeys) {
    const known = await digest(secret)
    same = known.reduce((difference, byte, index) => difference | (byte ^ given[index]!), 0) === 0 || same
  }
  return same
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
