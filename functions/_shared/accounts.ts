import { type AuthError, createClient, type Session } from '@supabase/supabase-js'
import { z } from 'zod'
import { actAs, asService } from './rpc.ts'
import type { Database } from './database.types.ts'
import { text } from './validate.ts'
import { log } from './log.ts'
import { httpError, serviceUnavailable, tooManyRequests } from './errors.ts'
import { platformFetch } from './platform_fetch.ts'
import { isSecretKey } from './secret_key.ts'
import { settings } from './settings.ts'
import type { Claims } from './token.ts'
import { drainSoon } from './embeddings/drain.ts'
import { profileChanges } from './schemas/users.ts'

const connect = (key: string) =>
  createClient<Database>(settings.platformUrl, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: platformFetch },
  })

/** Supabase Auth, as anybody may call it. */
export const authClient = () => connect(settings.publishableKey).auth

/** A new session for a refresh token; null where the token is not valid. Without the client, which would try for half a minute. */
export const refreshSession = async (refreshToken: string): Promise<Session | null> => {
  const response = await platformFetch(`${settings.platformUrl}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { apikey: settings.publishableKey, 'Content-Type': 'application/json' },
    body: JSON.stringify({ refresh_token: refreshToken }),
  }).catch(() => null)
  if (response?.ok) return await response.json().catch(serviceUnavailable)
  await response?.body?.cancel()
  if (response?.status === 429) return tooManyRequests()
  return response && response.status < 500 ? null : serviceUnavailable()
}

export const accountShape = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  role: z.enum(['user', 'admin']),
}).meta({ id: 'Account' })
export type Account = z.infer<typeof accountShape>

export const email = text(3, 254).pipe(z.email('must be an e-mail address'))
  .meta({ standsFor: { type: 'string', format: 'email', maxLength: 254 } })

// bcrypt, which Auth hashes with, reads 72 bytes.
const password = text(8, 72)
  .refine((value) => new TextEncoder().encode(value).length <= 72, 'must have at most 72 bytes')
  .meta({ standsFor: { type: 'string', minLength: 8, maxLength: 72, format: 'password' } })

const person = profileChanges.extend({ email, name: profileChanges.shape.name.unwrap() })
export const newSignUp = person.extend({ password })
export const newAccount = person.extend({ password: password.optional(), role: z.unknown().optional() })
export const secretKeyHeader = z.object({ apikey: z.string().optional() })

const takenAddress = 'An account with this e-mail already exists'

/** One answer for all that is wrong with a log-in, so that nobody learns which addresses have an account. */
export const wrongLogin = 'Wrong e-mail or password, or the e-mail is not confirmed yet'

/** Answers for what Auth refused; its own words stay inside. */
export const refusedByAuth = (error: AuthError): never => {
  switch (error.code) {
    case 'weak_password':
      return httpError(400, 'password: is too weak')
    case 'validation_failed':
    case 'email_address_invalid':
    case 'email_address_not_authorized':
      return httpError(400, 'email: is not accepted')
    case 'invalid_credentials':
    case 'email_not_confirmed':
    // Auth says so before it looks at the password.
    case 'user_banned':
      return httpError(401, wrongLogin)
    case 'signup_disabled':
    case 'email_provider_disabled':
      return httpError(403, 'Signing up is switched off')
  }
  if (error.status === 429) return tooManyRequests()
  if (error.name === 'AuthRetryableFetchError') return serviceUnavailable()
  throw error
}

/** Who an Auth account is to this service; a deactivated one is refused. */
export const accountOf = async (authId: string): Promise<Account> => {
  const claims: Claims = { sub: authId, role: 'authenticated', exp: 0 }
  return JSON.parse((await actAs(claims, true)`get_account()`).body)
}

interface AuthSettings {
  signUpIsOff: boolean
  mustConfirm: boolean
}

let authSettings: AuthSettings | undefined
let askedAt = -Infinity
/** How Auth is set, as it said within the last minute: it would say only after the account that waits there is gone. */
const readAuthSettings = async (): Promise<AuthSettings> => {
  if (authSettings && performance.now() - askedAt <= 60_000) return authSettings
  const response = await platformFetch(`${settings.platformUrl}/auth/v1/settings`, {
    headers: { apikey: settings.publishableKey },
  }).catch(() => null)
  const said: { disable_signup?: boolean; external?: { email?: boolean }; mailer_autoconfirm?: boolean } | null =
    await response?.json().catch(() => null)
  // Auth that does not answer here does not answer the sign-up either.
  if (!said) return serviceUnavailable()
  askedAt = performance.now()
  return authSettings = {
    signUpIsOff: said.disable_signup === true || said.external?.email === false,
    mustConfirm: said.mailer_autoconfirm === false,
  }
}

type NewPerson = z.output<typeof person> & { password: string }

interface SignedUp {
  /** As the answer shows it. Whether there is one, only `outcome` says: the id is drawn before anybody knows. */
  account: Account
  outcome: 'made' | 'taken' | 'not made'
  /** Null where the address must be confirmed first. */
  session: Session | null
}

/** Auth mails none but free addresses, so whatever it has against mailing one would tell that it is free. */
const isAboutMail = ({ code, message }: AuthError): boolean =>
  code === 'over_email_send_rate_limit' || code === 'email_address_not_authorized' || /\bsending\b.*mail/i.test(message)

/** A sign-up under way: the account as the answer shows it, whether its address must be confirmed, and what becomes of it. */
interface SignUp {
  account: Account
  mustConfirm: boolean
  signedUp: Promise<SignedUp>
}

/**
 * Makes the Auth account, and with it, in the same transaction, user and profile; first it removes whoever waits to confirm the same address.
 * Where e-mail must be confirmed, Auth pretends that a taken address is free, or hands out the account that waits there, with the password that
 * it has: so whether this sign-up was it, the ticket says, which is used up as the account is made.
 */
export const beginSignUp = async (person: NewPerson): Promise<SignUp> => {
  const { email, name, interest_ids = [] } = person
  // Auth would only say that something failed.
  await actAs(null, false)`check_interests(${{ ids: interest_ids }})`
  const { signUpIsOff, mustConfirm } = await readAuthSettings()
  if (signUpIsOff) httpError(403, 'Signing up is switched off')
  const { ticket, user_id } = JSON.parse(await asService`begin_sign_up(${email})`)
  const account: Account = { id: user_id, name, email: email.toLowerCase(), role: 'user' }
  return { account, mustConfirm, signedUp: askAuth(person, ticket, account) }
}

const askAuth = async (
  { email, password, name, ...profile }: NewPerson,
  ticket: string,
  account: Account,
): Promise<SignedUp> => {
  for (let triesLeft = 5;; triesLeft--) {
    const { data, error } = await authClient().signUp({ email, password, options: { data: { name, profile, ticket } } })
    if (error?.code === 'user_already_exists' || error?.code === 'email_exists') return httpError(409, takenAddress)
    if (data.session) {
      drainSoon()
      return { account: await accountOf(data.session.user.id), outcome: 'made', session: data.session }
    }
    const outcome: SignedUp['outcome'] | 'superseded' | 'retry' = JSON.parse(
      await asService`check_sign_up(${email}, ${ticket})`,
    )
    if (outcome === 'made') return { account, outcome, session: null }
    // Of several sign-ups with one address at once Auth lets one through, or fails all but one; the last to begin gets the address.
    if (triesLeft > 0 && (outcome === 'retry' || outcome === 'taken' && error?.status === 500)) continue
    if (outcome === 'superseded' || outcome === 'retry') return serviceUnavailable()
    if (error && !isAboutMail(error)) return refusedByAuth(error)
    if (error && outcome === 'not made') {
      log('warn', 'A confirmation was not sent', { code: error.code, status: error.status })
    }
    return { account, outcome, session: null }
  }
}

const role = z.enum(['user', 'admin'])

/** POST /users: as sign-up, but without a session; the secret key may choose a role. */
export const createAccount = async (
  { role: wanted, password, ...newcomer }: z.output<typeof newAccount>,
  apikey: string | undefined,
): Promise<Account> => {
  const trusted = await isSecretKey(apikey)
  if (!trusted && !settings.publicUserCreation) httpError(403, 'Users are created with the secret key only')
  const granted = trusted && wanted !== undefined ? role.safeParse(wanted) : undefined
  if (granted && !granted.success) httpError(400, 'role: must be user or admin')

  // Without a password the account can only be entered by recovery, so nobody may know this one.
  const { signedUp } = await beginSignUp({
    ...newcomer,
    password: password ?? crypto.randomUUID() + crypto.randomUUID(),
  })
  const { account, outcome, session } = await signedUp
  if (outcome === 'taken') return httpError(409, takenAddress)
  if (outcome === 'not made') return serviceUnavailable()
  if (session) await authClient().admin.signOut(session.access_token, 'local')
  if (!granted?.data || granted.data === account.role) return account

  const { error, status } = await connect(apikey!).from('users').update({ role: granted.data }).eq('id', account.id)
  if (error && status === 0) return httpError(503, 'The account was made, but its role could not be granted')
  if (error) throw new Error(`The role was not granted: ${error.message}`)
  return { ...account, role: granted.data }
}
