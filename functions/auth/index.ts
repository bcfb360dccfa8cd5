import type { Session } from '@supabase/supabase-js'
import { z } from 'zod'
import { clientAddress } from '../_shared/client_address.ts'
import { waitUntil } from '../_shared/platform.ts'
import { requireUser } from '../_shared/auth.ts'
import { createApp } from '../_shared/app.ts'
import { startLogIn } from '../_shared/log_in_time.ts'
import { text, validate } from '../_shared/validate.ts'
import { consumeRateLimit } from '../_shared/rate_limit.ts'
import { log } from '../_shared/log.ts'
import { route } from '../_shared/openapi.ts'
import { httpError, serviceUnavailable } from '../_shared/errors.ts'
import { beginSignUp, getAccount, type SignedUp } from '../_shared/sign_up.ts'
import { type Account, accountShape, captcha_token, email, newSignUp } from '../_shared/schemas/accounts.ts'
import { authClient, readAuthSettings, refreshSession, throwAuthError } from '../_shared/supabase_auth.ts'

const auth = createApp('auth')

const tokens = { access_token: z.string(), refresh_token: z.string(), expires_in: z.int() }
const bearer = { user: accountShape, token_type: z.literal('bearer') }
const sessionShape = z.strictObject({ ...bearer, ...tokens }).meta({ id: 'Session' })
const signUpShape = z.strictObject({
  ...bearer,
  access_token: tokens.access_token.nullable(),
  refresh_token: tokens.refresh_token.nullable(),
  expires_in: tokens.expires_in.nullable(),
}).meta({ id: 'SignedUp' })

const toSession = (user: Account, session: Session | null): z.infer<typeof signUpShape> => {
  const { access_token = null, refresh_token = null, expires_in = null } = session ?? {}
  return { user, access_token, refresh_token, token_type: 'bearer', expires_in }
}

const secret = text(1, 1000)

// In milliseconds. For a known address Auth hashes the password (60 to 100) and sends the e-mail; for another one it
// answers at once. For a sign-up it sends e-mail to a free address before it answers.
const signUpTime = 1500
const recoverTime = 500
// Auth asks the provider of the CAPTCHA first, over the Internet.
const captchaRecoverTime = 1500

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Hides by a fixed time what the work takes, which may go on after it. Throws what the work throws until then. */
const hideTime = async (milliseconds: number, work: Promise<void>, failure: string): Promise<void> => {
  const time = pause(milliseconds)
  waitUntil(work.catch(({ name, code, status }) => log('warn', failure, { name, code, status })))
  await Promise.race([work, time])
  await time
}

/** Throws what Auth refuses for every address. What it refuses for a free or a taken one alone is only logged. */
const throwIndependentError = async (signedUp: Promise<SignedUp>): Promise<void> => {
  // If phone confirmation is off, Auth reports a taken address.
  const signUp = await signedUp.catch((error) => error.status === 409 ? null : Promise.reject(error))
  if (signUp?.error) log('warn', 'Sign-up failed', { code: signUp.error.code, status: signUp.error.status })
}

auth.post(
  '/signup',
  route('signUp', 'Sign up; tokens are null where the e-mail must be confirmed first', {
    201: signUpShape,
    403: 'Signing up is switched off',
    409: 'The e-mail is taken',
  }, ['switched_off', 'forbidden', 'email_taken']),
  validate({ json: newSignUp }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_SIGNUP', clientAddress(c.req.raw.headers))
    const end = performance.now() + signUpTime
    const { account, confirmationRequired, signedUp } = await beginSignUp(c.var.json)
    // With e-mail confirmation a taken address is answered like a free one, and a superseded sign-up like one that was
    // made and then replaced. A floor as of log-ins would reveal a taken address when sign-ups are rare and sending
    // e-mail takes longer. So the response goes out after a fixed time, and Auth finishes after it.
    if (confirmationRequired) {
      await hideTime(end - performance.now(), throwIndependentError(signedUp), 'Sign-up failed')
      return c.json(toSession(account, null), 201)
    }
    const signUp = await signedUp
    if (signUp.error) return throwAuthError(signUp.error)
    if (signUp.outcome === 'superseded' || signUp.outcome === 'not made') serviceUnavailable()
    if (!signUp.session) await pause(end - performance.now())
    return c.json(toSession(signUp.account, signUp.session), 201)
  },
)

const newSession = async (session: Session) => toSession(await getAccount(session.user.id), session)

auth.post(
  '/login',
  route('logIn', 'Log in', {
    200: sessionShape,
    401: 'Wrong e-mail or password, or not confirmed yet',
    403: 'The account is deactivated, or log-in by e-mail is switched off',
  }, ['unauthorized', 'invalid_credentials', 'deactivated', 'switched_off', 'forbidden']),
  validate({
    json: z.object({
      email: text(1, 254).describe('The address of the account'),
      password: secret.describe('Its password'),
      captcha_token,
    }),
  }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_LOGIN', clientAddress(c.req.raw.headers))
    const timer = startLogIn()
    // bcrypt ignores everything after 72 bytes.
    if (new TextEncoder().encode(c.var.json.password).length > 72) throwAuthError({ code: 'invalid_credentials' })
    const { captcha_token: captchaToken, ...credentials } = c.var.json
    const options = captchaToken ? { captchaToken } : {}
    const { data, error } = await authClient().signInWithPassword({ ...credentials, options })
    if (error) {
      await timer.wait()
      return throwAuthError(error)
    }
    timer.record()
    return c.json(await newSession(data.session))
  },
)

auth.post(
  '/refresh',
  route('refreshSession', 'New tokens for a refresh token', {
    200: sessionShape,
    401: 'The refresh token is not valid',
    403: 'The account is deactivated',
  }, ['deactivated']),
  validate({ json: z.object({ refresh_token: secret.describe('Of the latest session') }) }),
  async (c) => {
    const address = clientAddress(c.req.raw.headers)
    await consumeRateLimit('RATE_LIMIT_REFRESH', address)
    const session = await refreshSession(c.var.json.refresh_token, address)
    return session ? c.json(await newSession(session)) : httpError('unauthorized', 'The refresh token is not valid')
  },
)

auth.post(
  '/logout',
  route('logOut', 'End the session of the token', {
    204: 'Logged out',
    403: 'The account is deactivated or suspended',
  }),
  requireUser,
  async (c) => {
    // Answers 401 or 403 for an erased or deactivated account, as every route does. Auth would only fail.
    await c.var.db`get_account()`
    const { error } = await authClient().admin.signOut(c.var.token, 'local')
    if (error?.code === 'user_banned') httpError('deactivated', 'The account is suspended')
    // If the session is gone already, there is nothing left to do.
    if (error && error.name !== 'AuthSessionMissingError' && error.code !== 'session_not_found') throwAuthError(error)
    return c.body(null, 204)
  },
)

// What Auth reports before it looks for the account. It reports email_address_invalid later, when it mails.
const independentOfAccount = /^(captcha_failed|over_request_rate_limit|email_provider_disabled|validation_failed)$/

/** Sends a recovery link, if the account exists. Throws only errors that do not depend on the address. */
const sendRecoveryLink = async (address: string, captchaToken: string | null | undefined): Promise<void> => {
  const { error } = await authClient().resetPasswordForEmail(address, { ...(captchaToken && { captchaToken }) })
  if (!error) return
  if (independentOfAccount.test(error.code ?? '') || /^captcha /.test(error.message)) throwAuthError(error)
  // Auth sends e-mail to known addresses only, so an e-mail error (twice within a minute, domain not allowed, no mail
  // server, a timeout, a hook's 503) would reveal that one is known. If Auth is down, it is for every address.
  const isTimeout = error.status === 504 || / due to timeout$/.test(error.message)
  if (!isTimeout && (!error.status || error.status > 500)) await readAuthSettings(0)
  log('warn', 'Recovery mail not sent', { code: error.code, status: error.status })
}

auth.post(
  '/recover',
  route('recoverPassword', 'Send a link to choose a new password, if there is such an account', {
    202: z.strictObject({ success: z.literal(true) }),
    403: 'Log-in by e-mail is switched off',
  }, ['switched_off', 'forbidden']),
  validate({ json: z.object({ email, captcha_token }) }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_RECOVER', clientAddress(c.req.raw.headers))
    const { email, captcha_token } = c.var.json
    const time = captcha_token ? captchaRecoverTime : recoverTime
    await hideTime(time, sendRecoveryLink(email, captcha_token), 'Recovery mail not sent')
    return c.json({ success: true }, 202)
  },
)

export default { fetch: auth.fetch }
