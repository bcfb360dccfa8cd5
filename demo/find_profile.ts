import type { SupabaseClient } from '@supabase/supabase-js'
import { request } from './request.ts'

/**
 * The id of a user's profile, which a conversation does not name. Null if the search does not find it: it is hidden, or
 * too many people have this name.
 */
export const findProfile = async (
  supabase: SupabaseClient,
  { id, name }: { id: number; name: string },
): Promise<number | null> => {
  const parameters = new URLSearchParams({ q: name, limit: '100' })
  const { hits } = await request<{ hits: { id: number; user_id: number }[] }>(supabase, `users/search?${parameters}`)
  return hits.find(({ user_id }) => user_id === id)?.id ?? null
}
