import type { SupabaseClient } from '@supabase/supabase-js'

interface RequestOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  body?: Record<string, unknown>
  signal?: AbortSignal
}

/** Sends one request to the service. Throws an error with the service's message. */
export const request = async <Body>(
  supabase: SupabaseClient,
  path: string,
  options: RequestOptions = {},
): Promise<Body> => {
  const { data, error, response } = await supabase.functions.invoke<Body>(path, { method: 'GET', ...options })
  if (!error) return data as Body
  const body = await response?.json().catch(() => null)
  throw new Error(
    body?.error ?? (response ? `The service answered ${response.status}` : 'The service cannot be reached'),
  )
}

export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)
