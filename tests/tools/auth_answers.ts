/** How Auth refuses. tests/platform/auth.test.ts compares those that it can provoke with Auth's own answers. */
export interface AuthAnswer {
  status: number
  error_code?: string
  msg?: string
  /** Whether Auth says so before it looks for the account, so that every address is answered alike. */
  isEarly?: true
}

const isEarly = true
const failure = { status: 500, error_code: 'unexpected_failure' }
// deno-fmt-ignore
export const authAnswers = {
  'answers captcha_failed':               { isEarly, status: 400, error_code: 'captcha_failed' },
  // If hCaptcha or Turnstile does not answer.
  'cannot check the CAPTCHA':             { isEarly, ...failure, msg: 'captcha verification process failed' },
  'answers weak_password':                { isEarly, status: 422, error_code: 'weak_password' },
  'answers signup_disabled':              { isEarly, status: 422, error_code: 'signup_disabled' },
  'answers email_provider_disabled':      { isEarly, status: 400, error_code: 'email_provider_disabled' },
  'answers over_request_rate_limit':      { isEarly, status: 429, error_code: 'over_request_rate_limit' },
  'is behind a gateway that answers 429': { isEarly, status: 429 },
  'is unavailable':                       { isEarly, status: 503, error_code: 'unavailable' },
  'has a gateway that refuses our key':   { isEarly, status: 401 },
  // With e-mail confirmation Auth looks for the account first, so it reports these for free addresses alone.
  'answers email_address_not_authorized': { status: 400, error_code: 'email_address_not_authorized' },
  'answers email_address_invalid':        { status: 400, error_code: 'email_address_invalid' },
  'answers unexpected_failure':           failure,
  'cannot send mail':                     { ...failure, msg: 'Error sending confirmation email' },
  'cannot save':                          { ...failure, msg: 'Database error saving new user' },
  'answers user_already_exists':          { status: 422, error_code: 'user_already_exists' },
  // Hooks of the operator: one that refuses, one that limits requests, one that is late, and one with a status of its
  // own, which supabase-js takes for a server that is down.
  'answers unknown':                      { status: 403, error_code: 'unknown' },
  'answers unknown with 429':             { status: 429, error_code: 'unknown' },
  'answers hook_timeout':                 { status: 422, error_code: 'hook_timeout' },
  'answers hook_timeout_after_retry':     { status: 422, error_code: 'hook_timeout_after_retry' },
  'answers hook_payload_over_size_limit': { status: 422, error_code: 'hook_payload_over_size_limit' },
  'has a hook that answers 503':          { status: 503, error_code: 'unknown' },
  'answers user_banned':                  { status: 400, error_code: 'user_banned' },
  'answers conflict':                     { status: 409, error_code: 'conflict' },
} satisfies Record<string, AuthAnswer>

/** What it answers to an address without an @. */
export const invalidAddress: AuthAnswer = { status: 400, error_code: 'validation_failed' }
/** What it answers if it has mailed the address less than a minute ago. */
export const mailedLately: AuthAnswer = { status: 429, error_code: 'over_email_send_rate_limit' }
