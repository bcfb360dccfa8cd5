import { AsyncLocalStorage } from 'node:async_hooks'
import type { App } from '@supabase/lite'
import { log } from '../../functions/_shared/log.ts'
import { describeError, isDatabaseError } from '../../functions/_shared/errors.ts'

interface Call {
  /** What @supabase/lite would have printed of it. */
  error?: unknown
}

const calls = new AsyncLocalStorage<Call>()

// @supabase/lite prints each error with the statement and its parameters: addresses, what people wrote, hashes of passwords. While it answers, nothing it
// prints reaches the console.
for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const) {
  const print = console[level]
  console[level] = (...words: unknown[]) => {
    const call = calls.getStore()
    if (call) call.error ??= words.find((word) => word instanceof Error)
    else print.apply(console, words)
  }
}

/** Prints what @supabase/lite means to be read: the mails that nobody delivers on this machine. */
export const printMail = ({ to, subject, text }: { to: string; subject: string; text?: string }): Promise<void> =>
  calls.exit(() => {
    console.info([`A mail that nobody delivers here`, `To: ${to}`, `Subject: ${subject}`, '', text ?? ''].join('\n'))
    return Promise.resolve()
  })

/** Auth's own shape of an error. */
const authError = (status: number, code: string, msg: string): Response =>
  Response.json({ code: status, error_code: code, msg }, { status, headers: { 'X-Sb-Error-Code': code } })

/** What somebody asked for that the database refuses is no failure of the server. In words of ours, or none that quote anything. */
const refusalOf = (error: unknown): Response | null => {
  if (!isDatabaseError(error)) return null
  const raised = /^PT(4\d\d)$/.exec(error.code)
  if (raised) return authError(Number(raised[1]), 'validation_failed', error.message)
  const constraint = (error as { constraint_name?: string; constraint?: string }).constraint_name ?? error.constraint
  if (error.code === '23514') return authError(400, 'validation_failed', constraint ?? 'A value is not allowed')
  // Data exceptions: a value of another type, out of range, or with a character that cannot be stored.
  if (error.code.startsWith('22')) return authError(400, 'validation_failed', 'A value is not of its type')
  return null
}

const texts = [
  'email',
  'password',
  'phone',
  'token',
  'token_hash',
  'type',
  'refresh_token',
  'auth_code',
  'code_verifier',
  'nonce',
]

/** Where Auth would stumble over a field that is no text. */
const wrongField = (body: Uint8Array): string | undefined => {
  try {
    const fields = JSON.parse(new TextDecoder().decode(body))
    return texts.find((name) => !['string', 'undefined'].includes(typeof (fields?.[name] ?? undefined)))
  } catch {
    // Auth says by itself that it is no JSON.
  }
}

/** Asks @supabase/lite. `peerAddress` is what it is told: it makes an admin of whoever is on this machine and brings no key. */
export const callLite = async (
  lite: App,
  request: Request,
  path: string,
  body: Uint8Array | null,
  peerAddress: string,
) => {
  const isAuth = path.startsWith('/auth/')
  const wrong = isAuth && body ? wrongField(body) : undefined
  if (wrong) return authError(400, 'validation_failed', `${wrong} must be text`)
  const call: Call = {}
  const response = await calls.run(call, () => Promise.resolve(lite.fetch(request, { peerAddress })))
  if (response.status < 500) return response
  const refusal = isAuth ? refusalOf(call.error) : null
  if (!refusal) {
    log(
      'error',
      isAuth ? 'Auth failed' : 'The Data API failed',
      describeError(call.error ?? new Error(`HTTP ${response.status}`)),
    )
  }
  return refusal ?? response
}
