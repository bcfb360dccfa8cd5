import { type AuthError, createClient, type Session } from '@supabase/supabase-js'
import type { Database } from './database.types.ts'
import { httpError, serviceUnavailable, tooManyRequests } from './errors.ts'
import { platformFetch } from './platform_fetch.ts'
import { settings } from './settings.ts'

/** supabase-js with this API key. */
export const createSupabaseClient = (key: string) =>
  createClient<Database>(settings.platformUrl, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { fetch: platformFetch },
  })

/** Supabase Auth with the publishable key. */
export const authClient = () => createSupabaseClient(settings.publishableKey).auth

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

interface AuthSettings {
  signUpDisabled: boolean
  confirmationRequired: boolean
}

let authSettings: AuthSettings | undefined
let fetchedAt = -Infinity
/** The settings of Auth, cached for a minute. A sign-up that Auth refuses would have removed the pending account. */
export const readAuthSettings = async (): Promise<AuthSettings> => {
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
    signUpDisabled: body.disable_signup === true || body.external?.email === false,
    confirmationRequired: body.mailer_autoconfirm === false,
  }
}
