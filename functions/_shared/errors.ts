import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { codeOf, type ErrorCode, errorCodes, statuses } from './error_codes.ts'
import { log } from './log.ts'

/** Throws an HTTP error with the body {error: message}, this X-Error-Code and its status. */
export const httpError = (code: ErrorCode, message: string, headers?: Record<string, string>): never => {
  const res = new Response(null, { headers: { ...headers, 'X-Error-Code': code } })
  throw new HTTPException(statuses[code], { message, res })
}

export const busy = 'The service is busy, please try again'

export const serviceUnavailable = (): never => httpError('unavailable', busy)

export const tooManyRequests = (seconds?: number): never => {
  const headers = seconds ? { 'Retry-After': String(seconds) } : undefined
  return httpError('rate_limited', 'Too many requests, please try again later', headers)
}

/** `severity_local` is in the language of the server. PgBouncer sends only this one. */
type DatabaseError = Record<'code' | 'message', string> & Partial<Record<Detail, string>>
type Detail = 'severity' | 'severity_local' | 'detail' | 'hint' | 'constraint'

export const isDatabaseError = (error: unknown): error is DatabaseError =>
  error instanceof Error && /^[0-9A-Z]{5}$/.test((error as Partial<DatabaseError>).code ?? '')

type ErrorResponse = [
  status: ContentfulStatusCode,
  body: { error: string } & Record<string, unknown>,
  headers?: Record<string, string>,
]

const unavailable: ErrorResponse = [503, { error: busy }]

/** In seconds, where nothing else is known. */
const retryAfter: Record<number, string> = { 429: '60', 503: '1' }

/** The database connection is gone, or silent, which cannot be told apart. */
export class ConnectionLoss extends Error {
  override name = 'ConnectionLoss'
}

// admin_shutdown, crash_shutdown, cannot_connect_now
const connectionLossCodes = ['57P01', '57P02', '57P03']

export const isConnectionLoss = (error: unknown): boolean =>
  error instanceof ConnectionLoss || (isDatabaseError(error) && connectionLossCodes.includes(error.code))

/** What ends an anonymous caller's statement (private.act_as), with the connection. */
const transactionTimeout = '25P04'

/** Whether a server or pooler has refused to open a connection: Supavisor says so with XX000, PgBouncer with 08P01. */
export const isConnectionRefusal = (error: unknown): boolean =>
  isDatabaseError(error) && (error.severity ?? error.severity_local) === 'FATAL' && error.code !== transactionTimeout

/** Whether the database has answered a statement with this error, on a connection that is still there. */
export const isOfStatement = (error: unknown): boolean =>
  isDatabaseError(error) && !isConnectionLoss(error) && !isConnectionRefusal(error)

/** What our SQL adds to the body as JSON. A trigger of the operator may have any text there, which is not passed on. */
const parseDetail = (detail: string | undefined): Record<string, unknown> => {
  try {
    const parsed: unknown = JSON.parse(detail ?? '')
    return parsed && typeof parsed === 'object' && !Array.isArray(parsed) ? parsed as Record<string, unknown> : {}
  } catch {
    return {}
  }
}

/** Clients see only texts that we wrote: what our SQL raises (PT400 to PT599) and the names of our constraints. */
const errorResponse = (error: unknown): ErrorResponse => {
  if (error instanceof HTTPException) {
    return [error.status, { error: error.message }, Object.fromEntries(error.res?.headers ?? [])]
  }
  if (isConnectionLoss(error) || isConnectionRefusal(error)) return unavailable
  const { code = '', message, detail, hint, constraint } = isDatabaseError(error) ? error : {} as Partial<DatabaseError>
  if (/^PT[45]\d\d$/.test(code)) {
    const status = Number(code.slice(2)) as ContentfulStatusCode
    // A refusal of our SQL names its code as the hint, if its status has several.
    const named = errorCodes.find((one) => one === hint && statuses[one] === status) ?? codeOf(status)
    const challenge = status === 401 && { 'WWW-Authenticate': 'Bearer error="invalid_token"' }
    return [status, { ...parseDetail(detail), error: message! }, { 'X-Error-Code': named, ...challenge }]
  }
  switch (code) {
    case '23514': // check_violation
      return [400, { error: constraint ?? 'A value is not allowed' }]
    case '22021': // character_not_in_repertoire
    case '22P05': // untranslatable_character
      return [400, { error: 'The text holds a character that cannot be stored' }]
    case '40001': // serialization_failure
    case '40P01': // deadlock_detected
    case '28000': // invalid_authorization_specification
    case '28P01': // invalid_password
    case '53100': // disk_full
    case '53300': // too_many_connections
    case '57014': // query_canceled, by the statement timeout
    case transactionTimeout:
      return unavailable
    default:
      return [500, { error: 'Internal server error' }]
  }
}

/** An error for the log. Its message loses everything in quotes, because that can be personal data. */
export const describeError = (error: unknown): Record<string, unknown> => {
  const { name, code, message, stack, routine, table } = error as Error & DatabaseError & Record<string, unknown>
  const frames = stack?.split('\n').filter((line) => /^\s+at /.test(line)).map((line) => line.trim())
  const cause = String(message).replaceAll(/(["'`(]).*?(["'`)]|$)/gs, '$1…$2')
  return { name, code, cause, routine, table, frames }
}

/** Turns everything thrown into a response. Unhandled errors are logged and not described to the client. */
export const onError = (error: unknown, c: Context): Response => {
  const [status, body, headers] = errorResponse(error)
  if (isConnectionRefusal(error)) log('warn', 'Database connection refused', describeError(error))
  else if (isConnectionLoss(error)) log('warn', 'Database connection failed', describeError(error))
  if (status === 500) log('error', 'Unhandled error', { route: c.req.routePath, ...describeError(error) })
  const wait = retryAfter[status]
  return c.json(body, status, {
    'Cache-Control': 'no-store',
    'X-Error-Code': codeOf(status),
    ...(wait && { 'Retry-After': wait }),
    ...headers,
  })
}
