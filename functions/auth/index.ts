import type { Session } from '@supabase/supabase-js'
import { z } from 'zod'
import { clientAddress } from '../_shared/client_address.ts'
import { afterwards } from '../_shared/afterwards.ts'
import { requireUser } from '../_shared/auth.ts'
import { door } from '../_shared/app.ts'
import { openFloor } from '../_shared/floor.ts'
import { text, validate } from '../_shared/validate.ts'
import { consumeRateLimit, consumeSignUp } from '../_shared/rate_limit.ts'
import { log } from '../_shared/log.ts'
import { route } from '../_shared/openapi.ts'
import { httpError } from '../_shared/errors.ts'
import {
  type Account,
  accountOf,
  accountShape,
  authClient,
  beginSignUp,
  email,
  newSignUp,
  refreshSession,
  refusedByAuth,
  wrongLogin,
} from '../_shared/accounts.ts'

const auth = door('auth')

const sessionShape = z.strictObject({
  user: accountShape,
  access_token: z.string().nullable(),
  refresh_token: z.string().nullable(),
  token_type: z.literal('bearer'),
  expires_in: z.int().nullable(),
}).meta({ id: 'Session' })

const sessionBody = (user: Account, session: Session | null): z.infer<typeof sessionShape> => ({
  user,
  access_token: session?.access_token ?? null,
  refresh_token: session?.refresh_token ?? null,
  token_type: 'bearer',
  expires_in: session?.expires_in ?? null,
})

const secret = text(1, 1000)

// In milliseconds. Auth hashes the passwords of addresses that it knows (60 to 100) and mails none but those, and answers for others at once.
// Of sign-ups it mails the free ones, before it answers.
const signUpTime = 1500
const signUpFloor = openFloor(800, 200, 5000)
const logInFloor = openFloor(500, 200, 5000)
const recoverTime = 500

const after = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

auth.post(
  '/signup',
  route('Sign up; tokens are null where the e-mail must be confirmed first', {
    201: sessionShape,
    403: 'Signing up is switched off',
    409: 'The e-mail is taken',
  }),
  validate({ json: newSignUp }),
  async (c) => {
    await consumeSignUp(clientAddress(c.req.raw.headers))
    const clock = signUpFloor.begin()
    const time = after(signUpTime)
    const { account, mustConfirm, signedUp } = await beginSignUp(c.var.json)
    // A taken address that must be confirmed answers like a free one, so nobody learns who has an account. A floor alone tells, where few sign
    // up and mailing takes longer than it: what Auth has not done by then, it does once the answer is out.
    if (mustConfirm) {
      // Where phones need no confirmation, Auth says that an address is taken.
      const untold = signedUp.catch((error) => error.status === 409 ? null : Promise.reject(error))
      afterwards(untold.catch(({ name, status }) => log('warn', 'A sign-up failed', { name, status })))
      await Promise.race([untold, time])
      await time
      return c.json(sessionBody(account, null), 201)
    }
    const made = await signedUp
    if (!made.session) await clock.reached()
    return c.json(sessionBody(made.account, made.session), 201)
  },
)

const signedIn = async (session: Session): Promise<z.infer<typeof sessionShape>> =>
  sessionBody(await accountOf(session.user.id), session)

auth.post(
  '/login',
  route('Log in', {
    200: sessionShape,
    401: 'Wrong e-mail or password, or not confirmed yet',
    403: 'The account is deactivated',
  }),
  validate({ json: z.object({ email: text(1, 254), password: secret }) }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_LOGIN', clientAddress(c.req.raw.headers))
    const clock = logInFloor.begin()
    // bcrypt would not see where a longer one differs.
    if (new TextEncoder().encode(c.var.json.password).length > 72) httpError(401, wrongLogin)
    const { data, error } = await authClient().signInWithPassword(c.var.json)
    if (error) {
      await clock.reached()
      return refusedByAuth(error)
    }
    clock.learn()
    return c.json(await signedIn(data.session))
  },
)

auth.post(
  '/refresh',
  route('New tokens for a refresh token', { 200: sessionShape, 401: 'The refresh token is not valid' }),
  validate({ json: z.object({ refresh_token: secret }) }),
  async (c) => {
    const session = await refreshSession(c.var.json.refresh_token)
    return session ? c.json(await signedIn(session)) : httpError(401, 'The refresh token is not valid')
  },
)

auth.post(
  '/logout',
  route('End the session of the token', { 204: 'Logged out' }),
  requireUser,
  async (c) => {
    // Who is gone or deactivated is told so, as everywhere; Auth would only fail.
    await c.var.db`get_account()`
    const { error } = await authClient().admin.signOut(c.var.token, 'local')
    // A session that is gone already has ended, which is all that was asked for.
    if (error && error.name !== 'AuthSessionMissingError' && error.code !== 'session_not_found') refusedByAuth(error)
    return c.body(null, 204)
  },
)

/** Has a link mailed, if there is such an account. Throws only what is so for every address. */
const mailLink = async (address: string): Promise<void> => {
  const { error } = await authClient().resetPasswordForEmail(address)
  // Auth mails only addresses that it knows, so whatever it has against mailing one (not twice within a minute, not this domain, no mail
  // server, or not in time) would tell that it does.
  const isLate = error?.status === 504 || / due to timeout$/.test(error?.message ?? '')
  if (error && !isLate && (!error.status || error.status > 500)) refusedByAuth(error)
  if (error) log('warn', 'A link was not sent', { code: error.code, status: error.status })
}

auth.post(
  '/recover',
  route('Send a link to choose a new password, if there is such an account', {
    202: z.strictObject({ success: z.literal(true) }),
  }),
  validate({ json: z.object({ email }) }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_RECOVER', clientAddress(c.req.raw.headers))
    // It takes everybody the same time: what Auth has not done by then, it does once the answer is out.
    const time = after(recoverTime)
    const mailed = mailLink(c.var.json.email)
    // What fails once the answer is out, nobody but the log can be told.
    afterwards(mailed.catch(({ name, code, status }) => log('warn', 'A link was not sent', { name, code, status })))
    await Promise.race([mailed, time])
    await time
    return c.json({ success: true }, 202)
  },
)

export default { fetch: auth.fetch }
