/** Breaks the search as it was until commit 957760e: a phrase is one of ten however long, and is checked for every word and posting anew. */
import type { Query } from '../../functions/_shared/postgres.ts'

const plants: [name: string, from: string, to: string][] = [
  ['parse_query', 'where words_so_far <= 10', 'where number <= 10'],
  ['parse_query', '<= 2 as is_new', '<= 512 as is_new'],
  // Bits for so many places there are not.
  ['keyword_scores', '1::bigint << best_matches.place', '1::bigint << least(best_matches.place, 62)'],
  ['keyword_scores', '1::bigint << matches.place)', '1::bigint << least(matches.place, 62))'],
  [
    'find_profiles',
    'else private.filter_profiles(filter => filter, word => rarest.word, max_results => exact_scan_limit)',
    'else null',
  ],
  ['find_profiles', 'terms := private.resolve_phrases(terms, keyword_ids);', 'null;'],
  ['selective_terms', 'and (term.phrase is null or (term.place, term.unit) in (select place, unit from rarest))', ''],
]

export const plant = async (query: Query): Promise<void> => {
  for (const [name, from, to] of plants) {
    const [row] = await query(
      "select pg_get_functiondef(oid) as source from pg_proc where pronamespace = 'private'::regnamespace and proname = $1",
      [name],
    )
    const source = String(row?.source)
    if (!source.includes(from)) throw new Error(`private.${name} does not say "${from}"`)
    await query(source.replace(from, to), [])
  }
}
