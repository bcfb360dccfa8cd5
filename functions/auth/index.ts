import type { Session } from '@supabase/supabase-js'
import { z } from 'zod'
import { addressOf } from '../_shared/address.ts'
import { actAs } from '../_shared/database.ts'
import { knownCaller } from '../_shared/caller.ts'
import { door } from '../_shared/door.ts'
import { input, text } from '../_shared/input.ts'
import { takeTurn, takeTurnToSignUp } from '../_shared/limits.ts'
import { log } from '../_shared/log.ts'
import { says } from '../_shared/openapi.ts'
import { refuse } from '../_shared/problem.ts'
import {
  type Account,
  accountOf,
  accountShape,
  authClient,
  email,
  newSignUp,
  refreshSession,
  refusedByAuth,
  signUp,
  wrongLogin,
} from './accounts.ts'

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

auth.post(
  '/signup',
  says('Sign up; tokens are null where the e-mail must be confirmed first', {
    201: sessionShape,
    403: 'Signing up is switched off',
    409: 'The e-mail is taken',
  }),
  input({ json: newSignUp }),
  async (c) => {
    await takeTurnToSignUp(addressOf(c.req.raw.headers))
    const { account, session } = await signUp(c.var.json)
    // A taken address that must be confirmed answers like a free one, so nobody learns who has an account.
    const user = account ?? {
      id: Number((await actAs(null, false)`draw_user_id()`).body),
      name: c.var.json.name,
      email: c.var.json.email.toLowerCase(),
      role: 'user' as const,
    }
    return c.json(sessionBody(user, session), 201)
  },
)

const signedIn = async (session: Session): Promise<z.infer<typeof sessionShape>> =>
  sessionBody(await accountOf(session.user.id), session)

auth.post(
  '/login',
  says('Log in', {
    200: sessionShape,
    401: 'Wrong e-mail or password, or not confirmed yet',
    403: 'The account is deactivated',
  }),
  input({ json: z.object({ email: text(1, 254), password: secret }) }),
  async (c) => {
    await takeTurn('RATE_LIMIT_LOGIN', addressOf(c.req.raw.headers))
    // bcrypt would not see where a longer one differs.
    if (new TextEncoder().encode(c.var.json.password).length > 72) refuse(401, wrongLogin)
    const { data, error } = await authClient().signInWithPassword(c.var.json)
    return c.json(error ? refusedByAuth(error) : await signedIn(data.session))
  },
)

auth.post(
  '/refresh',
  says('New tokens for a refresh token', { 200: sessionShape, 401: 'The refresh token is not valid' }),
  input({ json: z.object({ refresh_token: secret }) }),
  async (c) => {
    const session = await refreshSession(c.var.json.refresh_token)
    return session ? c.json(await signedIn(session)) : refuse(401, 'The refresh token is not valid')
  },
)

auth.post(
  '/logout',
  says('End the session of the token', { 204: 'Logged out' }),
  knownCaller,
  async (c) => {
    // Who is gone or deactivated is told so, as everywhere; Auth would only fail.
    await c.var.db`get_account()`
    const { error } = await authClient().admin.signOut(c.var.token, 'local')
    // A session that is gone already has ended, which is all that was asked for.
    if (error && error.name !== 'AuthSessionMissingError' && error.code !== 'session_not_found') refusedByAuth(error)
    return c.body(null, 204)
  },
)

auth.post(
  '/recover',
  says('Send a link to choose a new password, if there is such an account', {
    202: z.strictObject({ success: z.literal(true) }),
  }),
  input({ json: z.object({ email }) }),
  async (c) => {
    await takeTurn('RATE_LIMIT_RECOVER', addressOf(c.req.raw.headers))
    const { error } = await authClient().resetPasswordForEmail(c.var.json.email)
    // Auth mails only addresses that it knows, so whatever it has against mailing one (not twice within a minute, not this domain, no mail
    // server, or not in time) would tell that it does.
    const isLate = error?.status === 504 || / due to timeout$/.test(error?.message ?? '')
    if (error && !isLate && (!error.status || error.status > 500)) refusedByAuth(error)
    if (error) log('warn', 'A link was not sent', { code: error.code, status: error.status })
    return c.json({ success: true }, 202)
  },
)

export default { fetch: auth.fetch }
