import { type ApiClient, dataOf } from '../clients/api_client.ts'
import type { components } from '../clients/openapi.ts'

/**
 * What the search has of a user, whose profile a conversation does not name. Null if it does not find it: it is hidden,
 * or so many people have this name.
 */
export const findHit = async (
  api: ApiClient,
  { id, name }: { id: number; name: string },
  limit: number,
  signal: AbortSignal,
): Promise<components['schemas']['SearchHit'] | null> => {
  const { hits } = await dataOf(api.GET('/users/search', { params: { query: { q: name, limit } }, signal }))
  return hits.find(({ user_id }) => user_id === id) ?? null
}
