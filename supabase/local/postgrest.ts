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

// In the order in which PostgREST prints them. `tx` is missing: the platform ignores it.
const preferences: [preference: RegExp, methods: RegExp][] = [
  [/^resolution=(merge|ignore)-duplicates$/, /POST/],
  [/^missing=(default|null)$/, /POST|PATCH/],
  [/^return=(representation|minimal|headers-only)$/, /POST|PATCH|PUT|DELETE/],
  [/^count=(exact|planned|estimated)$/, /./],
  [/^handling=(strict|lenient)$/, /./],
  [/^max-affected=\d+$/, /PATCH|DELETE/],
]

/** The header Preference-Applied; of a preference that is given twice the first counts. */
export const appliedPreferences = (method: string, prefer: string): string => {
  const given = prefer.split(',').map((preference) => preference.trim())
  return preferences
    .filter(([, methods]) => methods.test(method))
    .flatMap(([preference]) => given.find((candidate) => preference.test(candidate)) ?? [])
    .filter((preference) => !preference.startsWith('max-affected') || given.includes('handling=strict'))
    .join(', ')
}

/**
 * Asks for one object by a preference that @supabase/lite checks before it writes: it deletes and changes several rows
 * first, and then refuses to return them.
 */
export const limitSingular = (request: Request): Request => {
  const { method, headers } = request
  const isSingular = headers.get('Accept')?.includes('application/vnd.pgrst.object')
  if (!isSingular || !['PATCH', 'DELETE'].includes(method)) return request
  const prefer = headers.get('Prefer') ?? ''
  const kept = prefer.includes('handling=strict') ? prefer : appliedPreferences(method, prefer)
  const limited = new Request(request)
  const others = kept.split(',').filter((preference) => !/^ *(handling|max-affected)=/.test(preference))
  limited.headers.set('Prefer', [...others, 'handling=strict', 'max-affected=1'].filter(Boolean).join(','))
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

/** Sets the headers of an answer of @supabase/lite. */
export const correctHeaders = (request: Request, { headers, status }: Response): void => {
  const applied = appliedPreferences(request.method, request.headers.get('Prefer') ?? '')
  if (status >= 400 && status !== 416) return
  headers.delete('Preference-Applied')
  if (applied) headers.set('Preference-Applied', applied)
  if (status === 204 || (status === 201 && !applied.includes('return=representation'))) headers.delete('Content-Type')
}

/**
 * A number that JSON.stringify prints as Postgres does, 12.50, and String too, for CSV. It is a function, because
 * @supabase/lite copies objects.
 */
const exactNumber = (text: string): unknown =>
  Object.assign(() => {}, {
    toJSON: () => /^-?\d/.test(text) ? rawJson(text) : text,
    toString: () => text,
  })
// TypeScript does not know it yet.
const rawJson = (JSON as unknown as { rawJSON: (text: string) => unknown }).rawJSON

/** Parses a numeric. */
export const parseNumeric = (text: string): unknown => String(Number(text)) === text ? Number(text) : exactNumber(text)

const losesDigits = /\.\d*0(?!\d)|\d{16}|\d[eE]/

/** Parses JSON with each number as it is written. */
export const parseExactJson = (text: string): unknown =>
  losesDigits.test(text)
    ? JSON.parse(
      text,
      ((_: string, value: unknown, { source }: { source: string }) =>
        typeof value === 'number' && String(value) !== source ? exactNumber(source) : value) as (
          this: unknown,
          key: string,
          value: unknown,
        ) => unknown,
    )
    : JSON.parse(text)
