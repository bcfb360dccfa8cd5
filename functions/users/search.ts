import { Hono } from 'hono'
import { optionalUser, requireUser } from '../_shared/auth.ts'
import { sendJson } from '../_shared/app.ts'
import { clientAddress } from '../_shared/client_address.ts'
import { limitConcurrency } from '../_shared/concurrency.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { queryVector } from '../_shared/embeddings/query_vector.ts'
import { route } from '../_shared/openapi.ts'
import { consumeRateLimit } from '../_shared/rate_limit.ts'
import type { Rpc, RpcResult } from '../_shared/rpc.ts'
import * as shape from '../_shared/schemas/users.ts'
import { settings } from '../_shared/settings.ts'
import type { Claims } from '../_shared/token.ts'
import { validate } from '../_shared/validate.ts'
import { explained, type ReadQuery, readQuery, textToEmbed, understandable } from './read_query.ts'

export const search = new Hono()

// Without a limit, searches take all connections and messages wait behind them. Two connections serve a hundred
// ordinary searches a second; beyond that a retry is faster than the queue.
const searchLimiter = limitConcurrency(settings.searchConcurrency, 100, 4000)

/** What the database made of queries last, to be embedded before it is asked again: {text} of understand_query. */
const texts = new Map<string, string | null>()
const maxTexts = 1000

const remember = (q: string, text: string | null): void => {
  if (texts.size >= maxTexts) texts.delete(texts.keys().next().value!)
  texts.set(q, text)
}

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
  const understood = JSON.parse((await searchLimiter(() => db`understand_query(${request})`)).body)
  remember(q, understood.text)
  return understood
}

/**
 * The answer to a query that was understood before, in one statement: the database understands it anew, and searches
 * with the vector of what it meant then. Null if it means something else by now.
 */
const searchAgain = async (db: Rpc, q: string, read: ReadQuery, request: object): Promise<RpcResult | null> => {
  const guess = texts.get(q)
  if (guess === undefined) return null
  const vector = await queryVector(textToEmbed(guess, read))
  const asked = { ...request, ...await understandable(q, read), guess, vector }
  const reply = await searchLimiter(() => db`search_profiles(${asked})`)
  return reply.body.startsWith('{"understood"') ? null : reply
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
    const request = {
      ...others,
      q,
      words: read.words,
      model: currentProvider().model,
      interests: filterInterests,
      cities: filterCity,
      countries: filterCountry,
      age: read.age,
      explain: explain === 'true',
      highlight: highlight === 'true',
      timeout: settings.searchTimeout,
    }
    const isExplained = suggest === 'true' || explain === 'true'
    const known = isExplained ? null : await searchAgain(c.var.db, q, read, request)
    if (known) return sendJson(c, known)
    const { text, suggestion, asked } = await understand(c.var.db, q, read)
    const embedded = textToEmbed(text, read)
    const vector = await queryVector(embedded)
    const reply = await searchLimiter(() => c.var.db`search_profiles(${{ ...request, asked, vector }})`)
    if (!isExplained) return sendJson(c, reply)
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
