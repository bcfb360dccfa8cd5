/** What PostgREST answers and @supabase/lite does not. */
import { isConnectionLoss, isDatabaseError } from '../../functions/_shared/errors.ts'

/** An error of PostgREST itself. */
export const postgrestError = (
  code: string,
  message: string,
  details: string | null = null,
  hint: string | null = null,
) => ({ code, details, hint, message })

// https://docs.postgrest.org/en/stable/references/errors.html
const statuses: [code: RegExp, status: number][] = [
  [/^P0001/, 400], // raise_exception
  [/^(23503|23505)/, 409],
  [/^(42P01|42883)/, 404],
  [/^25006/, 405], // read_only_sql_transaction
  [/^(0L|0P|28)/, 403],
  [/^(53400|42P17)/, 500],
  [/^(08|53|57P01)/, 503],
  [/^(09|21|25|2D|38|39|3B|40|54|55|57|58|F0|HV|P0|XX)/, 500],
]

const errorResponse = (status: number, body: ReturnType<typeof postgrestError>): Response =>
  Response.json(body, { status, headers: { 'Content-Type': 'application/json; charset=utf-8' } })

/** The response for an error that @supabase/lite answers with 500; null if it did not come from the database. */
export const databaseErrorResponse = (error: unknown): Response | null => {
  if (isConnectionLoss(error)) {
    return errorResponse(503, postgrestError('PGRST001', 'Database client error. Retrying the connection.'))
  }
  if (!isDatabaseError(error)) return null
  const { code, detail, hint, message } = error as typeof error & { hint?: string }
  const status = statuses.find(([codes]) => codes.test(code))?.[1] ?? 400
  return errorResponse(status, postgrestError(code, message, detail, hint))
}

/**
 * Asks for one object by a preference that @supabase/lite checks before it writes: it deletes and changes several rows
 * first, and then refuses to return them.
 */
export const limitSingular = (request: Request): Request => {
  const { method, headers } = request
  const isSingular = headers.get('Accept')?.includes('application/vnd.pgrst.object')
  if (!isSingular || !['PATCH', 'DELETE'].includes(method)) return request
  const given = (headers.get('Prefer') ?? '').split(',').map((preference) => preference.trim())
  // With strict handling others would be refused.
  const known = given.includes('handling=strict') ? /^(?!(handling|max-affected)=)./ : /^(missing|return|count)=/
  const limited = new Request(request)
  const kept = given.filter((preference) => known.test(preference))
  limited.headers.set('Prefer', [...kept, 'handling=strict', 'max-affected=1'].join(','))
  return limited
}

/** The refusal of more than one row, if the answer to such a request is one. */
export const singularError = async (response: Response): Promise<Response | null> => {
  if (response.status !== 400) return null
  const { code, details } = await response.clone().json()
  if (code !== 'PGRST124') return null
  const found = details.replace('query affects', 'result contains')
  return errorResponse(406, postgrestError('PGRST116', 'Cannot coerce the result to a single JSON object', found))
}
