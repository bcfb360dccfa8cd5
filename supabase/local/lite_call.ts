import { AsyncLocalStorage } from 'node:async_hooks'
import type { App } from '@supabase/lite'
import { describeError, isDatabaseError } from '../../functions/_shared/errors.ts'
import { log } from '../../functions/_shared/log.ts'
import type { SendMail } from './platform.ts'
import { databaseErrorResponse, limitSingular, singularError } from './postgrest.ts'

interface Call {
  /** The error that @supabase/lite tried to print. */
  error?: unknown
}

const calls = new AsyncLocalStorage<Call>()

// @supabase/lite prints each error with the statement and its parameters: e-mail addresses, message texts, password
// hashes. During a call nothing that it prints reaches the console.
for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const) {
  const print = console[level]
  console[level] = (...args: unknown[]) => {
    const call = calls.getStore()
    if (call) call.error ??= args.find((arg) => arg instanceof Error)
    else print.apply(console, args)
  }
}

/** Prints an e-mail instead of delivering it. */
export const printMail: SendMail = ({ to, subject, text }) =>
  calls.exit(() => console.info(`E-mail (not delivered by the local stack)\nTo: ${to}\nSubject: ${subject}\n\n${text}`))

export const authError = (status: number, code: string, msg: string): Response =>
  Response.json({ code: status, error_code: code, msg }, { status, headers: { 'X-Sb-Error-Code': code } })

/**
 * The 4xx response for an error of the database that the caller caused; null for any other. Its text is our own, or
 * that of an API function, and quotes no data.
 */
const clientErrorOf = (error: unknown): Response | null => {
  if (!isDatabaseError(error)) return null
  const raised = /^PT(4\d\d)$/.exec(error.code)
  if (raised) return authError(Number(raised[1]), 'validation_failed', error.message)
  const constraint = (error as { constraint_name?: string; constraint?: string }).constraint_name ?? error.constraint
  if (error.code === '23514') return authError(400, 'validation_failed', constraint ?? 'A value is not allowed')
  // Class 22, data exceptions: a wrong type, a value out of range, or a character that cannot be stored.
  if (error.code.startsWith('22')) return authError(400, 'validation_failed', 'A value is not of its type')
  return null
}

const stringFields = 'email password phone token token_hash type refresh_token auth_code code_verifier nonce'.split(' ')

/** The first field that must be a string and is not; Auth would answer it with 500. */
const nonStringField = (body: Uint8Array): string | undefined => {
  try {
    const fields = JSON.parse(new TextDecoder().decode(body))
    return stringFields.find((name) => !['string', 'undefined'].includes(typeof (fields?.[name] ?? undefined)))
  } catch {
    // Auth itself rejects invalid JSON.
  }
}

/** Calls @supabase/lite. It treats a request from a loopback `peerAddress` without a key as an admin's. */
export const callLite = async (
  lite: App,
  request: Request,
  path: string,
  body: Uint8Array | null,
  peerAddress: string,
) => {
  const isAuth = path.startsWith('/auth/')
  const invalid = isAuth && body ? nonStringField(body) : undefined
  if (invalid) return authError(400, 'validation_failed', `${invalid} must be text`)
  const call: Call = {}
  const forwarded = path.startsWith('/rest/') ? limitSingular(request) : request
  const response = await calls.run(call, () => Promise.resolve(lite.fetch(forwarded, { peerAddress })))
  const refusal = forwarded === request ? null : await singularError(response)
  if (refusal) return refusal
  if (response.status < 500) return response
  const databaseError = isAuth ? clientErrorOf(call.error) : databaseErrorResponse(call.error)
  if (databaseError && databaseError.status < 500) return databaseError
  const error = call.error ?? new Error(`HTTP ${response.status}`)
  log('error', isAuth ? 'Auth failed' : 'The Data API failed', describeError(error))
  return databaseError ?? response
}
