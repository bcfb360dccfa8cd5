import { Hono } from 'hono'
import { asUser, optionalUser } from '../_shared/auth.ts'
import { sendJson } from '../_shared/app.ts'
import { clientAddress } from '../_shared/client_address.ts'
import { limitSearch } from '../_shared/concurrency.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { knownWords, queryVector } from '../_shared/embeddings/query_vector.ts'
import { route } from '../_shared/openapi.ts'
import { consumeRateLimit } from '../_shared/rate_limit.ts'
import type { Rpc } from '../_shared/rpc.ts'
import * as shape from '../_shared/schemas/users.ts'
import { settings } from '../_shared/settings.ts'
import type { Claims } from '../_shared/token.ts'
import { validate } from '../_shared/validate.ts'
import {
  asksForNobody,
  corrected,
  explained,
  meaningOf,
  type Reading,
  type ReadQuery,
  readQuery,
  textToEmbed,
} from './read_query.ts'
import type { Wanted } from '../_shared/find_words.ts'
import { highlight as highlighted, type Hit } from './highlight.ts'

export const search = new Hono()

/** What private.describe_query says of a query. */
interface QueryDetails extends Reading {
  places: string[]
  wanted: Wanted[]
}

interface Found {
  answer: { hits: Hit[]; estimatedTotalHits: number; facetDistribution: Record<string, Record<string, number>> | null }
  query: QueryDetails
}

type Draft = Pick<Found, 'query'> & { answer: Found['answer'] | null }

/**
 * Searches in one statement. If words were mistyped or begun, the first only reads the query, since only the database
 * knows the words of the profiles, and a second one searches with the vector of what they mean.
 */
const find = async (db: Rpc, read: ReadQuery, request: object): Promise<Found> => {
  const ask = async <Result>(vector: string | null, isDraft: boolean): Promise<Result> =>
    JSON.parse((await limitSearch(() => db`search_profiles(${{ ...request, vector, isDraft }})`)).body)
  const typed = await queryVector(read.text)
  const { answer, query } = await ask<Draft>(typed, true)
  const meant = await queryVector(textToEmbed(read.text, query, currentProvider().name === 'offline'))
  return answer && meant === typed ? { answer, query } : await ask<Found>(meant, false)
}

/** Counts a search or a completion. */
const consumeSearchLimit = (claims: Claims | null, headers: Headers): Promise<void> =>
  claims
    ? consumeRateLimit('RATE_LIMIT_SEARCH', claims.sub)
    : consumeRateLimit('RATE_LIMIT_SEARCH_ANONYMOUS', clientAddress(headers))

search.get(
  '/search',
  route('searchProfiles', 'Search profiles by keywords and by meaning', {
    200: shape.searchResult,
    404: 'like: no such profile',
  }),
  optionalUser,
  validate({ query: shape.searchQuery }),
  async (c) => {
    await consumeSearchLimit(c.var.claims, c.req.raw.headers)
    const { q = '', filterInterests, filterCity, filterCountry, suggest, explain, highlight, ...others } = c.var.query
    const known = await knownWords(q)
    const read = readQuery(q, known)
    const { answer, query } = await find(c.var.db, read, {
      ...others,
      words: read.words,
      isNobody: asksForNobody(q),
      model: currentProvider().model,
      interests: filterInterests,
      cities: filterCity,
      countries: filterCountry,
      age: read.age,
      explain: explain === true,
      timeout: settings.SEARCH_TIMEOUT,
    })
    const { hits, ...counts } = answer
    const { corrections, places, wanted } = query
    return c.json({
      hits: highlight ? highlighted(hits, wanted) : hits,
      query: q,
      estimatedTotalHits: counts.estimatedTotalHits,
      limit: others.limit,
      offset: others.offset,
      ...counts.facetDistribution && { facetDistribution: counts.facetDistribution },
      ...suggest && {
        _suggestion: corrections.length > 0 ? { query: corrected(q, corrections), words: corrections } : null,
      },
      ...explain && { _understood: explained({ ...read, text: meaningOf(read.text, query) }, places) },
    })
  },
)

search.get(
  '/search/complete',
  route('completeSearch', 'What a search box may go on to', { 200: shape.completions }),
  asUser({ query: shape.completionQuery }),
  async (c) => {
    await consumeSearchLimit(c.var.claims, c.req.raw.headers)
    return sendJson(c, await limitSearch(() => c.var.db`complete_search(${c.var.query})`))
  },
)
