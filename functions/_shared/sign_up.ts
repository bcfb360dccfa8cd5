import type { AuthError, Session } from '@supabase/supabase-js'
import type { z } from 'zod'
import { drainSoon } from './embeddings/drain.ts'
import { httpError, serviceUnavailable } from './errors.ts'
import { log } from './log.ts'
import { actAs, asService } from './rpc.ts'
import { type Account, type newAccount, type newUser, role } from './schemas/accounts.ts'
import { isSecretKey } from './secret_key.ts'
import { settings } from './settings.ts'
import { authClient, createSupabaseClient, readAuthSettings, throwAuthError } from './supabase_auth.ts'
import type { Claims } from './token.ts'

const emailTaken = 'An account with this e-mail already exists'

/** The account of an Auth user. Throws 403 for a deactivated one. */
export const getAccount = async (authId: string): Promise<Account> => {
  const claims: Claims = { sub: authId, role: 'authenticated', exp: 0 }
  return JSON.parse((await actAs(claims, true)`get_account()`).body)
}

type NewUser = z.output<typeof newUser> & { password: string; captcha_token?: string | null | undefined }

interface SignedUp {
  /** As in the response. Only `outcome` says whether it exists, because its id is drawn in advance. */
  account: Account
  outcome: 'made' | 'superseded' | 'taken' | 'not made'
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
export const beginSignUp = async (user: NewUser, client = authClient()): Promise<SignUp> => {
  const { email, password, captcha_token, name, ...fields } = user
  // First, because Auth would report an unknown interest as an unspecified failure.
  await actAs(null, false)`check_interests(${{ ids: fields.interest_ids ?? [] }})`
  const { signUpDisabled, confirmationRequired } = await readAuthSettings()
  if (signUpDisabled) httpError(403, 'Signing up is switched off')
  const { ticket, user_id } = JSON.parse(
    await asService`begin_sign_up(address => ${email}, name => ${name}, fields => ${fields})`,
  )
  const account: Account = { id: user_id, name, email: email.toLowerCase(), role: 'user' }
  return {
    account,
    confirmationRequired,
    signedUp: createAuthUser(client, { password, captcha_token, ticket }, account),
  }
}

interface NewAuthUser {
  password: string
  captcha_token: string | null | undefined
  ticket: string
}

const createAuthUser = async (
  client: ReturnType<typeof authClient>,
  { password, captcha_token, ticket }: NewAuthUser,
  account: Account,
): Promise<SignedUp> => {
  const { email } = account
  const options = { data: { ticket }, ...(captcha_token && { captchaToken: captcha_token }) }
  const maxTries = 6
  for (let triesLeft = maxTries - 1;; triesLeft--) {
    const { data, error } = await client.signUp({ email, password, options })
    if (error?.code === 'captcha_failed') {
      // A CAPTCHA can be used once, so a second try never passes.
      return triesLeft === maxTries - 1 ? throwAuthError(error) : serviceUnavailable()
    }
    if (error?.code === 'user_already_exists' || error?.code === 'email_exists') return httpError(409, emailTaken)
    if (data.session) {
      drainSoon()
      return { account: await getAccount(data.session.user.id), outcome: 'made', session: data.session }
    }
    const outcome: SignedUp['outcome'] | 'retry' = JSON.parse(await asService`check_sign_up(${email}, ${ticket})`)
    if (outcome === 'made') return { account, outcome, session: null }
    // Of several concurrent sign-ups with one address Auth lets one through, or fails all but one. The last to begin
    // must get the address.
    if (triesLeft > 0 && (outcome === 'retry' || outcome === 'taken' && error?.status === 500)) continue
    if (outcome === 'retry') return serviceUnavailable()
    const isConflict = outcome === 'superseded' && error?.status === 500
    if (error && !isConflict && !isEmailError(error)) return throwAuthError(error)
    if (error && outcome === 'not made') {
      log('warn', 'Confirmation mail not sent', { code: error.code, status: error.status })
    }
    return { account, outcome, session: null }
  }
}

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
  const newUser = { ...fields, password: password ?? crypto.randomUUID() + crypto.randomUUID() }
  // Auth asks the holder of the secret key for no CAPTCHA.
  const { signedUp } = await beginSignUp(newUser, trusted ? createSupabaseClient(apikey!).auth : authClient())
  const { account, outcome, session } = await signedUp
  if (outcome === 'taken') return httpError(409, emailTaken)
  if (outcome === 'superseded' || outcome === 'not made') return serviceUnavailable()
  if (session) await authClient().admin.signOut(session.access_token, 'local')
  if (!granted?.data || granted.data === account.role) return account

  const { error, status } = await createSupabaseClient(apikey!).from('users').update({ role: granted.data }).eq(
    'id',
    account.id,
  )
  if (error && status === 0) return httpError(503, 'The account was made, but its role could not be granted')
  if (error) throw new Error(`The role could not be granted: ${error.message}`)
  return { ...account, role: granted.data }
}
