import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { ServiceError } from '../clients/errors.ts'
import type { components } from '../clients/openapi.ts'
import type { Search } from './router.ts'

type SearchResult = components['schemas']['SearchResult']

const pause = 1000

/** One page of people, with everything that the page shows of a search. A busy service is asked twice. */
export const searchPeople = async (
  api: ApiClient,
  { q, interests, cities, countries, like }: Search,
  limit: number,
  signal: AbortSignal,
): Promise<SearchResult> => {
  const search = () =>
    dataOf(api.GET('/users/search', {
      params: {
        query: {
          limit,
          facets: 'interests,city,country',
          highlight: true,
          explain: true,
          suggest: true,
          ...(q.trim() && { q }),
          ...(like && { like }),
          ...(interests.length && { filterInterests: interests.join(',') }),
          ...(cities.length && { filterCity: cities.join(',') }),
          ...(countries.length && { filterCountry: countries.join(',') }),
        },
      },
      signal,
    }))
  try {
    return await search()
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError) || error.status !== 503) throw error
    await new Promise((resolve) => setTimeout(resolve, pause))
    signal.throwIfAborted()
    return await search()
  }
}
