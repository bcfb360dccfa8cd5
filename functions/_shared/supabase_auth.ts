import { type AuthError, createClient, type Session } from '@supabase/supabase-js'
import type { Database } from './database.types.ts'
import { unknownAddress } from './client_address.ts'
import { busy, httpError, serviceUnavailable, tooManyRequests } from './errors.ts'
import type { ErrorCode } from './error_codes.ts'
import { platformFetch } from './platform.ts'
import { project, settings } from './settings.ts'

export const createSupabaseClient = (key: string) =>
  createClient<Database>(project.platformUrl, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: platformFetch },
  })

export const authClient = (key = project.publishableKey) => createSupabaseClient(key).auth

/**
 * The headers with which Auth counts a request for the client's address instead of ours. It takes them with a secret
 * key only, and skips the CAPTCHA for one, so they are only for requests that need none.
 */
const forwardingHeaders = (address: string): Record<string, string> => {
  const secretKey = project.secretKeys.find((key) => key.startsWith('sb_secret_'))
  return settings.FORWARD_CLIENT_ADDRESS && secretKey && address !== unknownAddress
    ? { apikey: secretKey, 'Sb-Forwarded-For': address.replace('/64', '') }
    : {}
}

/** A new session, or null for an invalid refresh token. The client library would retry for half a minute. */
export const refreshSession = async (refreshToken: string, address: string): Promise<Session | null> => {
  const response = await platformFetch(`${project.platformUrl}/auth/v1/token?grant_type=refresh_token`, {
    method: 'POST',
    headers: { apikey: project.publishableKey, 'Content-Type': 'application/json', ...forwardingHeaders(address) },
    body: JSON.stringify({ refresh_token: refreshToken }),
  }).catch(() => null)
  if (response?.ok) return await response.json().catch(serviceUnavailable)
  await response?.body?.cancel()
  if (response?.status === 429) return tooManyRequests()
  // 401: our key was deleted. 409: too many requests at once have this token. It stays valid.
  return response && response.status < 500 && ![401, 409].includes(response.status) ? null : serviceUnavailable()
}

/** One message for every failed log-in, so that it does not reveal which addresses have an account. */
const invalidCredentials = 'Wrong e-mail or password, or the e-mail is not confirmed yet'

/** What Auth refuses, by its code, and what we answer. Its own messages are not passed on. */
const refusals: Record<string, [code: ErrorCode, message: string]> = {
  captcha_failed: ['invalid', 'captcha_token: is missing or was not accepted, please solve the CAPTCHA again'],
  weak_password: ['invalid', 'password: is too weak'],
  validation_failed: ['invalid', 'email: is not accepted'],
  email_address_invalid: ['invalid', 'email: is not accepted'],
  email_address_not_authorized: ['invalid', 'email: is not accepted'],
  invalid_credentials: ['invalid_credentials', invalidCredentials],
  email_not_confirmed: ['invalid_credentials', invalidCredentials],
  // Auth reports this before it checks the password.
  user_banned: ['invalid_credentials', invalidCredentials],
  signup_disabled: ['switched_off', 'Signing up is switched off'],
  email_provider_disabled: ['switched_off', 'Sign-up and log-in by e-mail are switched off'],
  // A hook of the operator refused.
  unknown: ['forbidden', 'Not allowed by the settings of this service'],
  hook_timeout: ['unavailable', busy],
  hook_timeout_after_retry: ['unavailable', busy],
  request_timeout: ['unavailable', busy],
}

export const throwAuthError = (error: Partial<AuthError>): never => {
  // Auth does not say how long to wait. Its limits refill within seconds. First, because a hook's 429 has code unknown.
  if (error.status === 429) return tooManyRequests()
  const refusal = refusals[error.code ?? '']
  if (refusal) return httpError(...refusal)
  if (error.name === 'AuthRetryableFetchError') return serviceUnavailable()
  throw error
}

// What Auth reports before it looks for the account. Hooks, mail and the database can fail for free addresses alone.
const independentOfAddress =
  /^(captcha_failed|email_provider_disabled|over_request_rate_limit|signup_disabled|validation_failed|weak_password)$/

// supabase-js drops the code of a 5xx. A 429 without one is the gateway's; those of hooks have `unknown`.
export const isIndependent = ({ code, status, message }: AuthError): boolean =>
  independentOfAddress.test(code ?? '') || status === 429 && !code || /^captcha /.test(message)

let authSettings = { signUpDisabled: false, confirmationRequired: false, fetchedAt: -Infinity }
/** The settings of Auth, cached for `maxAge` milliseconds. Throws 503 if Auth does not answer. */
export const readAuthSettings = async (maxAge = 60_000): Promise<typeof authSettings> => {
  if (performance.now() - authSettings.fetchedAt <= maxAge) return authSettings
  const response = await platformFetch(`${project.platformUrl}/auth/v1/settings`, {
    headers: { apikey: project.publishableKey },
  }).catch(() => null)
  const body: { disable_signup?: boolean; external?: { email?: boolean }; mailer_autoconfirm?: boolean } | null =
    await response?.json().catch(() => null)
  // If Auth does not answer here, it will not answer the sign-up either.
  if (!response?.ok || !body) return serviceUnavailable()
  return authSettings = {
    signUpDisabled: body.disable_signup === true || body.external?.email === false,
    confirmationRequired: body.mailer_autoconfirm === false,
    fetchedAt: performance.now(),
  }
}
