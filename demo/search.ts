import type { SupabaseClient } from '@supabase/supabase-js'
import type { Facets } from './filters.ts'
import type { Hit } from './hit.ts'
import { request } from './request.ts'
import type { Search } from './router.ts'

interface SearchResult {
  hits: Hit[]
  estimatedTotalHits: number
  facetDistribution: Facets
  _suggestion: { query: string } | null
}

/** One page of people, with everything that the page shows of a search. */
export const searchPeople = (
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
  return request<SearchResult>(supabase, `users/search?${parameters}`, { signal })
}
