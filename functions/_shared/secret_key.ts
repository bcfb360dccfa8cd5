import { createMiddleware } from 'hono/factory'
import { documents } from './openapi.ts'
import { httpError } from './errors.ts'
import { settings } from './settings.ts'
import { bearer } from './token.ts'

/** Whether this is a secret key of the project. */
export const isSecretKey = async (key: string | undefined): Promise<boolean> => {
  if (!key) return false
  const digest = async (value: string) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(value)))
  const given = await digest(key)
  let same = false
  // Digests of equal length, compared without stopping early, tell nothing by the time they take.
  for (const secret of settings.secretKeys) {
    const known = await digest(secret)
    same = known.reduce((difference, byte, index) => difference | (byte ^ given[index]!), 0) === 0 || same
  }
  return same
}

/** The secret key is needed: in `apikey`, as clients of Supabase send it, or as a bearer token, as Prometheus does. */
export const secretKeyHolder = documents(
  { security: [{ secretKey: [] }, { bearer: [] }], responses: { 401: 'Not the secret key' } },
  createMiddleware(async (c, next) => {
    if (!await isSecretKey(c.req.header('apikey')) && !await isSecretKey(bearer(c.req.header('Authorization')))) {
      httpError(401, 'The secret key is needed', { 'WWW-Authenticate': 'Bearer' })
    }
    await next()
  }),
)
