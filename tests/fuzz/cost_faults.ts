/** Faults that make some searches expensive, to prove that cost.ts finds such searches. */
import type { Query } from '../../functions/_shared/postgres.ts'

type Fault = (query: Query) => Promise<void>

// A phrase counts as one of the ten words however long it is, and finds all who have its words.
const replacements: [name: string, from: string, to: string][] = [
  ['parse_query', 'where words_so_far <= 10', 'where number <= 10'],
  ['parse_query', '<= 2 as is_new', '<= 512 as is_new'],
  // The bit mask has too few bits for all words of such phrases.
  ['keyword_scores', '1::bigint << best_matches.place', '1::bigint << least(best_matches.place, 62)'],
  ['read_query', "private.lexeme(word), ' <-> ' order by position)", "private.lexeme(word), ' & ' order by position)"],
]

const longPhrases: Fault = async (query) => {
  for (const [name, from, to] of replacements) {
    const [row] = await query(
      `select pg_get_functiondef(oid) as source
       from pg_proc where pronamespace = 'private'::regnamespace and proname = $1`,
      [name],
    )
    const source = String(row?.source)
    if (!source.includes(from)) throw new Error(`private.${name} does not contain "${from}"`)
    await query(source.replace(from, to), [])
  }
}

// With few profiles the real fault costs too little to exceed the limit. This one also adds a fixed cost to queries
// with a quoted phrase of more than ten words. It includes the real one, so that a quick run notices when the
// replacements no longer apply.
const slowPhrases: Fault = async (query) => {
  await longPhrases(query)
  await query('alter function api.search_profiles(jsonb) rename to search_profiles_without_fault', [])
  await query(
    `create function api.search_profiles(request jsonb)
     returns json
     language plpgsql
     as $$
     begin
       if request ->> 'q' ~ '"([^" ]+ ){10}' then
         perform count(*) from generate_series(1, 1500000);
       end if;
       return api.search_profiles_without_fault(request);
     end
     $$`,
    [],
  )
}

export const costFaults: Record<string, Fault> = { 'long-phrases': longPhrases, 'slow-phrases': slowPhrases }
