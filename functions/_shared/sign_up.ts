import type { AuthError, Session } from '@supabase/supabase-js'
import type { z } from 'zod'
import { isSecretKey } from './auth.ts'
import { drainSoon } from './embeddings/drain.ts'
import { httpError, serviceUnavailable } from './errors.ts'
import { actAs, asService } from './rpc.ts'
import type { Account, newAccount, newUser } from './schemas/accounts.ts'
import { role } from './schemas/users.ts'
import { project, settings } from './settings.ts'
import { authClient, createSupabaseClient, isIndependent, readAuthSettings, throwAuthError } from './supabase_auth.ts'

const emailTaken = 'An account with this e-mail already exists'

/** The account of an Auth user. Throws 403 for a deactivated one. */
export const getAccount = async (sub: string): Promise<Account> =>
  JSON.parse((await actAs({ sub, role: 'authenticated', exp: 0 }, true)`get_account()`).body)

type NewUser = z.output<typeof newUser> & { password: string; captcha_token?: string | null | undefined }

export interface SignedUp {
  /** As in the response. Only `outcome` says whether it exists, because its id is drawn in advance. */
  account: Account
  outcome: 'made' | 'superseded' | 'taken' | 'not made'
  session: Session | null
  /** Why Auth did not create it, if it says so of some addresses only; null where another sign-up was first. */
  error: AuthError | null
}

/** Whether Auth has accepted the CAPTCHA and then failed because of another account with the address. */
const isConflict = ({ code, message }: AuthError): boolean =>
  code === 'over_email_send_rate_limit' || /^Database error/.test(message)

/** A sign-up in progress; whether a pending account has the address. */
type SignUp = { ticket: string; user_id: number; pending: boolean }

/**
 * Creates the Auth user, with user and profile in the same transaction, and removes a pending account of this address.
 * If e-mail confirmation is on, Auth reports a taken address as free, or returns the pending account with its old
 * password. The ticket tells these cases apart: creating the account consumes it.
 */
export const beginSignUp = async (user: NewUser, secretKey?: string) => {
  const { email, password: _, captcha_token: __, name, ...fields } = user
  const { signUpDisabled, confirmationRequired } = await readAuthSettings()
  if (signUpDisabled) httpError('switched_off', 'Signing up is switched off')
  const signUp: SignUp = JSON.parse(
    await asService`begin_sign_up(address => ${email}, name => ${name}, fields => ${fields})`,
  )
  const account: Account = { id: signUp.user_id, name, email: email.toLowerCase(), role: 'user' }
  return { account, confirmationRequired, signedUp: createAuthUser(user, signUp, account, secretKey) }
}

const createAuthUser = async (
  { password, captcha_token }: NewUser,
  { ticket, pending }: SignUp,
  account: Account,
  secretKey: string | undefined,
): Promise<SignedUp> => {
  let client = authClient(secretKey)
  // Auth asks the holder of a secret key for no CAPTCHA, which can be used once. Only after it has accepted one.
  const trust = () => client = authClient(project.secretKeys[0])
  const result = (outcome: SignedUp['outcome'], details: Partial<SignedUp> = {}): SignedUp => (
    { account, outcome, session: null, error: null, ...details }
  )
  const data = { ticket }
  const signUp = async (email: string) => {
    // The holder of the secret key vouches for the address. An account that Auth's admin creates has no session.
    if (secretKey) {
      const { error } = await client.admin.createUser({ email, password, email_confirm: true, user_metadata: data })
      return { data: { session: null }, error }
    }
    return await client.signUp({ email, password, options: { data, captchaToken: captcha_token ?? undefined } })
  }
  const checkSignUp = async (accepted: boolean): Promise<SignedUp['outcome'] | 'retry'> =>
    JSON.parse(await asService`check_sign_up(address => ${account.email}, begun => ${ticket}, accepted => ${accepted})`)

  if (pending) {
    // Whoever has no CAPTCHA must not remove the pending account, and for a sign-up Auth would mail its link again. So
    // ask for what Auth refuses, though not before it has checked the CAPTCHA, its limits and the password.
    const { error } = await signUp('no address')
    if (error?.code !== 'validation_failed') {
      if (error && isIndependent(error)) return throwAuthError(error)
      await readAuthSettings(0)
      return result('not made', { error })
    }
    const outcome = await checkSignUp(true)
    if (outcome === 'superseded') return result(outcome)
    trust()
  }

  for (let triesLeft = 5, isFirst = !pending;; triesLeft--, isFirst = false) {
    const { data, error } = await signUp(account.email)
    if (isFirst && error && isIndependent(error)) return throwAuthError(error)
    if (error?.code === 'user_already_exists' || error?.code === 'email_exists') httpError('email_taken', emailTaken)
    if (data.session) {
      drainSoon()
      return result('made', { account: await getAccount(data.session.user.id), session: data.session })
    }
    const accepted = !error || isConflict(error)
    const outcome = await checkSignUp(accepted)
    if (outcome === 'made') {
      if (secretKey) drainSoon()
      return result(outcome)
    }
    // Of concurrent sign-ups with one address Auth makes one, or fails all but one. The last to begin must get it.
    const isRetry = outcome === 'retry' || outcome === 'taken' && error?.status === 500 ||
      // Another sign-up has removed the account that Auth found.
      outcome === 'not made' && !error
    if (triesLeft > 0 && isRetry) {
      trust()
      continue
    }
    // If Auth is down, it is for every address.
    if (error?.name === 'AuthRetryableFetchError') await readAuthSettings(0)
    const isExplained = accepted && outcome !== 'retry' && outcome !== 'not made'
    return result(outcome === 'retry' ? 'not made' : outcome, { error: isExplained ? null : error })
  }
}

/** POST /users: a sign-up without a session, in which the secret key may choose a role. */
export const createAccount = async (
  { role: requested, password, ...fields }: z.output<typeof newAccount>,
  apikey: string | undefined,
): Promise<Account> => {
  const trusted = await isSecretKey(apikey)
  if (!trusted && !settings.PUBLIC_USER_CREATION) {
    httpError('switched_off', 'Users are created with the secret key only')
  }
  const { data: granted } = role.default('user').safeParse(trusted ? requested : undefined)
  if (!granted) return httpError('invalid', 'role: must be user or admin')

  // Without a password the only way in is recovery, so this one must be unguessable.
  const newUser = { ...fields, password: password ?? crypto.randomUUID() + crypto.randomUUID() }
  const { signedUp } = await beginSignUp(newUser, trusted ? apikey : undefined)
  const { account, outcome, session, error } = await signedUp
  if (error) throwAuthError(error)
  if (outcome === 'taken') return httpError('email_taken', emailTaken)
  if (outcome === 'superseded' || outcome === 'not made') return serviceUnavailable()
  if (session) await authClient().admin.signOut(session.access_token, 'local')
  if (granted === account.role) return account

  const granting = await createSupabaseClient(apikey!).from('users').update({ role: granted }).eq('id', account.id)
  if (granting.error && granting.status === 0) {
    return httpError('unavailable', 'The account was made, but its role could not be granted')
  }
  if (granting.error) throw new Error(`The role could not be granted: ${granting.error.message}`)
  return { ...account, role: granted }
}
