import type { SupabaseClient } from '@supabase/supabase-js'

interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: Record<string, unknown>
  signal?: AbortSignal
}

/** A request that failed. `status` is 0 if no answer came. */
export class RequestError extends Error {
  readonly status: number
  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** Sends one request to the service. Throws a RequestError with the service's message. */
export const request = async <Body>(
  supabase: SupabaseClient,
  path: string,
  options: RequestOptions = {},
): Promise<Body> => {
  const { data, error, response } = await supabase.functions.invoke<Body>(path, { method: 'GET', ...options })
  if (!error) return data as Body
  if (!response) throw new RequestError('The service cannot be reached. Is this device online?', 0)
  const body = await response.json().catch(() => null)
  throw new RequestError(body?.error ?? `The service answered ${response.status}`, response.status)
}

/** The service names a field as its requests do; here it gets the words of the page. */
const fields: Record<string, string> = {
  content: 'The message',
  attachment: 'The file',
  name: 'The name',
  bio: 'The line about you',
  biography: 'The text about you',
  city: 'The city',
  country: 'The country',
  image_url: 'The photo',
  interest_ids: 'The interests',
  is_searchable: 'The visibility',
  delay_minutes: 'The delay',
  quiet_hours: 'The quiet hours',
  title: 'What you offer',
  date: 'The beginning (date)',
  ends_at: 'The end',
  price: 'The price',
  note: 'The note',
  q: 'The search',
}

/** The field that a refusal is about, if it names one, and what is wrong with it. */
export const refusalOf = (error: unknown): { field: string; text: string } => {
  const message = error instanceof Error ? error.message : String(error)
  const [, field = '', rest = message] = /^(\w+)(?:\.\w+)*: (.*)$/s.exec(message) ?? []
  return Object.hasOwn(fields, field) ? { field, text: `${fields[field]} ${rest}` } : { field: '', text: message }
}

/** What went wrong, for a person. */
export const errorText = (error: unknown): string => refusalOf(error).text
