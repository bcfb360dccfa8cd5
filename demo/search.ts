import { type ApiClient, dataOf } from '../clients/api_client.ts'
import { ServiceError } from '../clients/errors.ts'
import type { Search } from './router.ts'

const pause = 1000

/** One page of people, with everything that the page shows of a search. A busy service is asked twice. */
export const searchPeople = async (api: ApiClient, search: Search, limit: number, signal: AbortSignal) => {
  const { q, interests, cities, countries, like } = search
  const query = {
    ...{ limit, facets: 'interests,city,country', highlight: true, explain: true, suggest: true },
    ...(q.trim() && { q }),
    ...(like && { like }),
    ...(interests.length && { filterInterests: interests.join(',') }),
    ...(cities.length && { filterCity: cities.join(',') }),
    ...(countries.length && { filterCountry: countries.join(',') }),
  }
  const ask = () => dataOf(api.GET('/users/search', { params: { query }, signal }))
  try {
    return await ask()
  } catch (error) {
    if (signal.aborted || !(error instanceof ServiceError) || error.status !== 503) throw error
    await new Promise((resolve) => setTimeout(resolve, pause))
    signal.throwIfAborted()
    return await ask()
  }
}
