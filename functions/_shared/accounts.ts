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

/** Supabase Auth with the publishable key. */
export const authClient = () => connect(settings.publishableKey).auth

/** A new session, or null for an invalid refresh token. The client library would retry for half a minute. */
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
  .meta({ jsonSchema: { type: 'string', format: 'email', maxLength: 254 } })

// Auth hashes with bcrypt, which reads 72 bytes.
const password = text(8, 72)
  .refine((value) => new TextEncoder().encode(value).length <= 72, 'must have at most 72 bytes')
  .meta({ jsonSchema: { type: 'string', minLength: 8, maxLength: 72, format: 'password' } })

const newUser = profileChanges.extend({ email, name: profileChanges.shape.name.unwrap() })
export const newSignUp = newUser.extend({ password })
export const newAccount = newUser.extend({ password: password.optional(), role: z.unknown().optional() })
export const secretKeyHeader = z.object({ apikey: z.string().optional() })

const emailTaken = 'An account with this e-mail already exists'

/** One message for every failed log-in, so that it does not reveal which addresses have an account. */
export const invalidCredentials = 'Wrong e-mail or password, or the e-mail is not confirmed yet'

/** Translates an error of Auth. Its own messages are not passed on. */
export const throwAuthError = (error: AuthError): never => {
  switch (error.code) {
    case 'weak_password':
      return httpError(400, 'password: is too weak')
    case 'validation_failed':
    case 'email_address_invalid':
    case 'email_address_not_authorized':
      return httpError(400, 'email: is not accepted')
    case 'invalid_credentials':
    case 'email_not_confirmed':
    // Auth reports this before it checks the password.
    case 'user_banned':
      return httpError(401, invalidCredentials)
    case 'signup_disabled':
    case 'email_provider_disabled':
      return httpError(403, 'Signing up is switched off')
  }
  if (error.status === 429) return tooManyRequests()
  if (error.name === 'AuthRetryableFetchError') return serviceUnavailable()
  throw error
}

/** The account of an Auth user. Throws 403 for a deactivated one. */
export const getAccount = async (authId: string): Promise<Account> => {
  const claims: Claims = { sub: authId, role: 'authenticated', exp: 0 }
  return JSON.parse((await actAs(claims, true)`get_account()`).body)
}

interface AuthSettings {
  signUpDisabled: boolean
  confirmationRequired: boolean
}

let authSettings: AuthSettings | undefined
let fetchedAt = -Infinity
/** The settings of Auth, cached for a minute. A sign-up that Auth refuses would have removed the pending account. */
const readAuthSettings = async (): Promise<AuthSettings> => {
  if (authSettings && performance.now() - fetchedAt <= 60_000) return authSettings
  const response = await platformFetch(`${settings.platformUrl}/auth/v1/settings`, {
    headers: { apikey: settings.publishableKey },
  }).catch(() => null)
  const body: { disable_signup?: boolean; external?: { email?: boolean }; mailer_autoconfirm?: boolean } | null =
    await response?.json().catch(() => null)
  // If Auth does not answer here, it will not answer the sign-up either.
  if (!body) return serviceUnavailable()
  fetchedAt = performance.now()
  return authSettings = {
    signUpDisabled: body.disable_signup === true ||
      body.external?.email === false,
    confirmationRequired: body.mailer_autoconfirm === false,
  }
}

type NewUser = z.output<typeof newUser> & { password: string }

interface SignedUp {
  /** As in the response. Only `outcome` says whether it exists, because its id is drawn in advance. */
  account: Account
  outcome: 'made' | 'taken' | 'not made'
  /** Null until the address is confirmed. */
  session: Session | null
}

/** Auth sends e-mail to free addresses only, so reporting an e-mail error would reveal that the address is free. */
const isEmailError = ({ code, message }: AuthError): boolean =>
  code === 'over_email_send_rate_limit' || code === 'email_address_not_authorized' || /\bsending\b.*mail/i.test(message)

/** A sign-up in progress. */
interface SignUp {
  /** As in the response. */
  account: Account
  confirmationRequired: boolean
  signedUp: Promise<SignedUp>
}

/**
 * Removes the pending account of this address and creates the Auth user, with user and profile in the same transaction.
 * If e-mail confirmation is on, Auth reports a taken address as free, or returns the pending account with its old
 * password. The ticket tells these cases apart: creating the account consumes it.
 */
export const beginSignUp = async (user: NewUser): Promise<SignUp> => {
  const { email, name, interest_ids = [] } = user
  // Auth would only report that something failed.
  await actAs(null, false)`check_interests(${{ ids: interest_ids }})`
  const { signUpDisabled, confirmationRequired } = await readAuthSettings()
  if (signUpDisabled) httpError(403, 'Signing up is switched off')
  const { ticket, user_id } = JSON.parse(await asService`begin_sign_up(${email})`)
  const account: Account = { id: user_id, name, email: email.toLowerCase(), role: 'user' }
  return { account, confirmationRequired, signedUp: createAuthUser(user, ticket, account) }
}

const createAuthUser = async (
  { email, password, name, ...profile }: NewUser,
  ticket: string,
  account: Account,
): Promise<SignedUp> => {
  for (let triesLeft = 2;; triesLeft--) {
    const { data, error } = await authClient().signUp({ email, password, options: { data: { name, profile, ticket } } })
    if (error?.code === 'user_already_exists' || error?.code === 'email_exists') return httpError(409, emailTaken)
    if (data.session) {
      drainSoon()
      return { account: await getAccount(data.session.user.id), outcome: 'made', session: data.session }
    }
    const outcome: SignedUp['outcome'] | 'overtaken' = JSON.parse(await asService`check_sign_up(${email}, ${ticket})`)
    if (outcome === 'made') return { account, outcome, session: null }
    // Auth lets one of several concurrent sign-ups with one address succeed. The last one must get the address: retry.
    if (triesLeft > 0 && (outcome === 'overtaken' || outcome === 'taken' && error?.status === 500)) continue
    if (outcome === 'overtaken') return serviceUnavailable()
    if (error && !isEmailError(error)) return throwAuthError(error)
    if (error && outcome === 'not made') {
      log('warn', 'Confirmation mail not sent', { code: error.code, status: error.status })
    }
    return { account, outcome, session: null }
  }
}

const role = z.enum(['user', 'admin'])

/** POST /users: a sign-up without a session, in which the secret key may choose a role. */
export const createAccount = async (
  { role: requested, password, ...fields }: z.output<typeof newAccount>,
  apikey: string | undefined,
): Promise<Account> => {
  const trusted = await isSecretKey(apikey)
  if (!trusted && !settings.publicUserCreation) httpError(403, 'Users are created with the secret key only')
  const granted = trusted && requested !== undefined ? role.safeParse(requested) : undefined
  if (granted && !granted.success) httpError(400, 'role: must be user or admin')

  // Without a password the only way in is recovery, so this one must be unguessable.
  const { signedUp } = await beginSignUp({ ...fields, password: password ?? crypto.randomUUID() + crypto.randomUUID() })
  const { account, outcome, session } = await signedUp
  if (outcome === 'taken') return httpError(409, emailTaken)
  if (outcome === 'not made') return serviceUnavailable()
  if (session) await authClient().admin.signOut(session.access_token, 'local')
  if (!granted?.data || granted.data === account.role) return account

  const { error, status } = await connect(apikey!).from('users').update({ role: granted.data }).eq('id', account.id)
  if (error && status === 0) return httpError(503, 'The account was made, but its role could not be granted')
  if (error) throw new Error(`The role could not be granted: ${error.message}`)
  return { ...account, role: granted.data }
}
