import { type ApiClient, dataOf } from '../clients/api_client.ts'

/**
 * The id of a user's profile, which a conversation does not name. Null if the search does not find it: it is hidden, or
 * too many people have this name.
 */
export const findProfile = async (
  api: ApiClient,
  { id, name }: { id: number; name: string },
): Promise<number | null> => {
  const { hits } = await dataOf(api.GET('/users/search', { params: { query: { q: name, limit: 100 } } }))
  return hits.find(({ user_id }) => user_id === id)?.id ?? null
}
