import type { App } from '@supabase/lite'
import { Hono } from 'hono'
import type { Rate } from '../../functions/_shared/setting_rules.ts'
import { readBody } from './body.ts'
import type { Database } from './database.ts'
import { authError, callLite } from './lite_call.ts'
import { createMutex } from './mutex.ts'
import type { Env } from './path.ts'
import type { SendMail } from './platform.ts'
import type { Keys, Settings } from './settings.ts'

/** Codes have six digits and hold for an hour: of a hundred thousand accounts somebody guesses 36 an hour. */
const wrongCodes: Rate = { count: 60, seconds: 600, burst: 60 }

/** The fields of a body; none if it is no JSON object. */
const fieldsOf = (body: Uint8Array | null): Record<string, unknown> => {
  try {
    return JSON.parse(new TextDecoder().decode(body ?? new Uint8Array())) ?? {}
  } catch {
    return {}
  }
}

/** What Supabase's Auth does and that of @supabase/lite does not. */
export const auth = (
  database: Database,
  settings: Settings,
  keys: Keys,
  /** The Auth that asks for no confirmation. */
  trusting: App,
  sendMail: SendMail,
) => {
  const routes = new Hono<Env>()
  const tooMany = () => authError(429, 'over_request_rate_limit', 'Request rate limit reached')
  /** Consumes a token of this address; returns the seconds until there is one. */
  const consume = async (kind: string, who: string, { count, seconds, burst }: Rate): Promise<number> => {
    const call = 'select private.consume_rate_limit($1, $2, $3::double precision, $4::integer) as wait'
    const [row] = await database.query(call, [kind, who, seconds / count, burst])
    return Number(row!.wait)
  }

  routes.post('/token', async (c, next) => {
    // The functions count by the client's address, in rows of their own.
    const isLogIn = c.req.query('grant_type') === 'password' && !c.env.isFunction
    const rate = isLogIn ? settings.logInRate : null
    return rate && await consume('log-ins', c.env.peerAddress, rate) > 0 ? tooMany() : await next()
  })

  const refusedUntil = new Map<string, number>()
  const verifying = createMutex()
  // One after the other, so that many at once are counted.
  routes.use('/verify', (c, next) =>
    verifying(async () => {
      const { peerAddress } = c.env
      if ((refusedUntil.get(peerAddress) ?? 0) > Date.now()) return tooMany()
      refusedUntil.delete(peerAddress)
      await next()
      const isWrong = c.res.status === 403 || c.res.headers.get('Location')?.includes('error_code=')
      const wait = isWrong ? await consume('codes', peerAddress, wrongCodes) : 0
      if (wait > 0) refusedUntil.set(peerAddress, Date.now() + 1000 * wait)
    }))

  // A change of address is confirmed at the new one.
  routes.put('/user', async (c, next) => {
    const body = c.req.raw.body && await readBody(c.req.raw.body)
    if (body) c.req.raw = new Request(c.req.raw, { body })
    await next()
    const { email: wanted } = fieldsOf(body)
    if (!wanted || c.res.status !== 200) return
    const { email, new_email } = await c.res.clone().json()
    if (!email || new_email !== `${wanted}`.toLowerCase()) return
    sendMail({
      to: email,
      subject: 'Your e-mail address is about to change',
      text: `Your account gets the address ${new_email} once that is confirmed by the code that was sent there.\n\n` +
        'If it was not you who asked for it, choose a new password.',
    })
  })

  routes.post('/admin/users', async (c) => {
    if (c.req.header('apikey') !== keys.secretKey) return authError(403, 'not_admin', 'User not allowed')
    const body = c.req.raw.body && await readBody(c.req.raw.body)
    const { email, password, email_confirm, user_metadata } = fieldsOf(body)
    if (email_confirm !== true) return authError(501, 'not_implemented', 'On one machine only with email_confirm')
    const call = async (path: string, content: unknown, token: string): Promise<Response> => {
      const bytes = new TextEncoder().encode(JSON.stringify(content))
      const headers = { apikey: keys.publishableKey, Authorization: `Bearer ${token}` }
      const request = new Request(new URL(`/auth/v1/${path}`, c.req.url), { method: 'POST', headers, body: bytes })
      return await database.mutex(() => callLite(trusting, request, `/auth/v1/${path}`, bytes, 'elsewhere'))
    }
    const response = await call('signup', { email, password, data: user_metadata }, keys.publishableKey)
    if (!response.ok) return response
    const { user, access_token } = await response.json()
    // Whoever is signed up by another has no session yet.
    await call('logout', {}, access_token)
    return c.json(user)
  })
  return routes
}
