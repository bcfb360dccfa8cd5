import type { SupabaseClient } from '@supabase/supabase-js'

interface Question {
  method?: 'GET' | 'POST'
  body?: Record<string, unknown>
  signal?: AbortSignal
}

/** One request to the service; fails with the service's own words. */
export const ask = async <Body>(supabase: SupabaseClient, path: string, question: Question = {}): Promise<Body> => {
  const { method = 'GET', body, signal } = question
  const { data, error, response } = await supabase.functions.invoke<Body>(path, { method, body, signal })
  if (!error) return data as Body
  const said = await response?.json().catch(() => null)
  throw new Error(
    said?.error ?? (response ? `The service answered ${response.status}` : 'The service cannot be reached'),
  )
}

export const wordsOf = (error: unknown): string => error instanceof Error ? error.message : String(error)
