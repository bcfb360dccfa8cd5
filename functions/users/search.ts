import { Hono } from 'hono'
import { optionalUser, requireUser } from '../_shared/auth.ts'
import { sendJson } from '../_shared/app.ts'
import { clientAddress } from '../_shared/client_address.ts'
import { limitConcurrency } from '../_shared/concurrency.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { queryVector } from '../_shared/embeddings/query_vector.ts'
import { route } from '../_shared/openapi.ts'
import { consumeRateLimit } from '../_shared/rate_limit.ts'
import type { Rpc } from '../_shared/rpc.ts'
import * as shape from '../_shared/schemas/users.ts'
import { settings } from '../_shared/settings.ts'
import type { Claims } from '../_shared/token.ts'
import { validate } from '../_shared/validate.ts'
import { explained, type ReadQuery, readQuery, textToEmbed, understandable } from './read_query.ts'

export const search = new Hono()

// Without a limit, searches take all connections and messages wait behind them. Two connections serve a hundred
// ordinary searches a second; beyond that a retry is faster than the queue.
const searchLimiter = limitConcurrency(settings.searchConcurrency, 100, 4000)

interface Understood {
  /** What to embed; null for the query as typed. */
  text: string | null
  suggestion: { query: string; words: { from: string; to: string }[] } | null
  /** The query as the database has read it. */
  asked?: { places: string[] }
}

/** What the words of a query mean to the profiles and the model. Its statement is short, and waits like a search. */
const understand = async (db: Rpc, q: string, read: ReadQuery): Promise<Understood> => {
  if (read.words.trim() === '') return { text: '', suggestion: null }
  const request = { ...await understandable(q, read), timeout: settings.searchTimeout }
  return JSON.parse((await searchLimiter(() => db`understand_query(${request})`)).body)
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
    const read = readQuery(q)
    const { text, suggestion, asked } = await understand(c.var.db, q, read)
    const embedded = textToEmbed(text, read)
    const request = {
      ...others,
      q,
      words: read.words,
      asked,
      vector: await queryVector(embedded),
      model: currentProvider().model,
      interests: filterInterests,
      cities: filterCity,
      countries: filterCountry,
      age: read.age,
      explain: explain === 'true',
      highlight: highlight === 'true',
      timeout: settings.searchTimeout,
    }
    const reply = await searchLimiter(() => c.var.db`search_profiles(${request})`)
    if (suggest !== 'true' && explain !== 'true') return sendJson(c, reply)
    return c.json({
      ...JSON.parse(reply.body),
      ...(suggest === 'true' && { _suggestion: suggestion }),
      ...(explain === 'true' && { _understood: explained(read, asked?.places ?? [], embedded) }),
    })
  },
)

search.get(
  '/search/complete',
  route('completeSearch', 'What a search box may go on to', { 200: shape.completions }),
  requireUser,
  validate({ query: shape.completionQuery }),
  async (c) => {
    await consumeSearchLimit(c.var.claims, c.req.raw.headers)
    return sendJson(c, await searchLimiter(() => c.var.db`complete_search(${c.var.query})`))
  },
)
