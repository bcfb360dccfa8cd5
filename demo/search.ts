import type { SupabaseClient } from '@supabase/supabase-js'
import type { Facets } from './filters.ts'
import type { Hit } from './hit.ts'
import { request, RequestError } from './request.ts'
import type { Search } from './router.ts'

interface SearchResult {
  hits: Hit[]
  estimatedTotalHits: number
  facetDistribution: Facets
  _suggestion: { query: string } | null
}

const pause = 1000

/** One page of people, with everything that the page shows of a search. A busy service is asked twice. */
export const searchPeople = async (
  supabase: SupabaseClient,
  { q, interests, cities, countries, like }: Search,
  limit: number,
  signal: AbortSignal,
): Promise<SearchResult> => {
  const parameters = new URLSearchParams({
    limit: `${limit}`,
    facets: 'interests,city,country',
    highlight: 'true',
    suggest: 'true',
  })
  if (q.trim()) parameters.set('q', q)
  if (like) parameters.set('like', `${like}`)
  const filters = { filterInterests: interests, filterCity: cities, filterCountry: countries }
  for (const [name, values] of Object.entries(filters)) if (values.length) parameters.set(name, values.join(','))
  const search = () => request<SearchResult>(supabase, `users/search?${parameters}`, { signal })
  try {
    return await search()
  } catch (error) {
    if (signal.aborted || !(error instanceof RequestError) || error.status !== 503) throw error
    await new Promise((resolve) => setTimeout(resolve, pause))
    signal.throwIfAborted()
    return await search()
  }
}
