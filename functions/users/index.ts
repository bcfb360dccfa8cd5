import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import { createMiddleware } from 'hono/factory'
import { accountShape, newAccount, secretKeyHeader } from '../_shared/schemas/accounts.ts'
import { createAccount } from '../_shared/sign_up.ts'
import { clientAddress } from '../_shared/client_address.ts'
import { anonymousUser, optionalUser, requireUser } from '../_shared/auth.ts'
import { createApp, sendJson } from '../_shared/app.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { limitConcurrency } from '../_shared/concurrency.ts'
import { knownWords, queryVector, textToEmbed } from '../_shared/embeddings/query_vector.ts'
import { validate } from '../_shared/validate.ts'
import { consumeRateLimit, consumeSignUpLimit, consumeWriteLimit } from '../_shared/rate_limit.ts'
import { idempotencyKey } from '../_shared/idempotency_key.ts'
import { sendPage } from '../_shared/next_page.ts'
import { route } from '../_shared/openapi.ts'
import type { Rpc } from '../_shared/rpc.ts'
import type { Claims } from '../_shared/token.ts'
import { isSecretKey } from '../_shared/secret_key.ts'
import { settings } from '../_shared/settings.ts'
import { drainSoon } from '../_shared/embeddings/drain.ts'
import { removeAvatars } from './avatars.ts'
import { notifications } from './notifications.ts'
import { myReservation, reservationPage } from '../_shared/schemas/reservations.ts'
import { idempotencyHeader } from '../_shared/schemas/conversations.ts'
import * as reports from '../_shared/schemas/reports.ts'
import * as shape from '../_shared/schemas/users.ts'

const users = createApp('users')
const hidden = 'The account is deactivated, or an admin has hidden the profile and it cannot be made searchable'

/** Embeds a changed profile after the response instead of waiting for the schedule. */
const embedAfterwards = createMiddleware(async (c, next) => {
  await next()
  if (c.res.ok) drainSoon()
})

// Without a limit, searches take all connections and messages wait behind them. Two connections serve a hundred
// ordinary searches a second; beyond that a retry is faster than the queue.
const searchLimiter = limitConcurrency(settings.searchConcurrency, 100, 4000)

// A 304 keeps the headers that CORS and request tracing need.
const withEtag = etag({
  retainedHeaders: [
    ...RETAINED_304_HEADERS,
    'access-control-allow-origin',
    'access-control-expose-headers',
    'x-content-type-options',
    'x-request-id',
  ],
})

users.post(
  '/',
  route('createUser', 'Create a user, for administration and seeding', {
    201: accountShape,
    403: 'Only the secret key may create users here',
    409: 'The e-mail is taken',
  }),
  validate({ headers: secretKeyHeader, json: newAccount }),
  async (c) => {
    const { apikey } = c.var.headers
    if (!await isSecretKey(apikey)) await consumeSignUpLimit(clientAddress(c.req.raw.headers))
    return c.json(await createAccount(c.var.json, apikey), 201)
  },
)

users.get(
  '/me',
  route('getMe', 'The caller with profile and interests', { 200: shape.user }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`get_me()`),
)

users.get(
  '/me/export',
  route('exportMe', 'All data of the caller, including received messages', { 200: shape.exported }),
  requireUser,
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_EXPORT', c.var.claims.sub)
    // The first chunk is read before the status is sent, so that errors still get theirs.
    const first = await c.var.db`export_me(${null})`
    const chunks = async function* (): AsyncGenerator<string> {
      yield first.body
      for (let { place } = first.metadata; place;) {
        const next = await c.var.db`export_me(${place})`
        yield next.body
        place = next.metadata.place
      }
    }
    // Chunks are read as the client consumes them. A slow client holds no database connection.
    return c.body(ReadableStream.from(chunks()).pipeThrough(new TextEncoderStream()), 200, {
      'Content-Type': 'application/json',
      'Content-Disposition': 'attachment; filename="export.json"',
    })
  },
)

users.delete(
  '/me',
  route(
    'eraseMe',
    'Erase the caller: account, log-in, profile, interests and blocks; the partners keep the conversations',
    {
      204: 'Erased',
    },
  ),
  requireUser,
  async (c) => {
    // First the avatars: if the process dies in between, the user can still retry.
    await removeAvatars(c.var.db, c.var.token)
    await c.var.db`erase_me()`
    return c.body(null, 204)
  },
)

users.get(
  '/me/reservations',
  route('listMyReservations', "A page of the caller's reservations, newest first; the Link header names the next one", {
    200: myReservation.array(),
  }),
  requireUser,
  validate({ query: reservationPage }),
  async (c) => sendPage(c, await c.var.db`list_my_reservations(${c.var.query})`, c.var.query),
)

users.get(
  '/me/reports',
  route('listMyReports', "A page of the caller's reports, newest first; the Link header names the next one", {
    200: reports.myReport.array(),
  }),
  requireUser,
  validate({ query: reports.reportPage }),
  async (c) => sendPage(c, await c.var.db`list_my_reports(${c.var.query})`, c.var.query),
)

users.post(
  '/me/reports',
  route('reportPerson', 'Report a person or a message to the moderators; with an Idempotency-Key, exactly once', {
    200: reports.report,
    201: reports.report,
    404: 'No such user, or no such message in a conversation of the caller',
    422: 'The Idempotency-Key was used with another payload',
  }),
  requireUser,
  validate({ headers: idempotencyHeader, json: reports.newReport }),
  async (c) => {
    const { client_id: fromBody, ...draft } = c.var.json
    const client_id = idempotencyKey(c.var.headers['idempotency-key'], fromBody)
    await consumeWriteLimit('RATE_LIMIT_REPORT', c.var.claims.sub, client_id)
    const reported = await c.var.db`report_person(${{ ...draft, client_id }})`
    if (reported.metadata.replayed) c.header('Idempotency-Replayed', 'true')
    return sendJson(c, reported, reported.metadata.existing ? 200 : 201)
  },
)

users.get(
  '/me/blocks',
  route('listBlocks', 'The users whom the caller has blocked, latest first', { 200: shape.block.array() }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`list_blocks()`),
)

users.put(
  '/me/blocks/:user_id',
  route('blockUser', 'Block a user: stops new conversations, messages and search hits both ways', {
    204: 'Blocked',
    404: 'No such user',
  }),
  requireUser,
  validate({ params: shape.blockParam }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_BLOCK', c.var.claims.sub)
    await c.var.db`block_person(${c.var.params.user_id})`
    return c.body(null, 204)
  },
)

users.delete(
  '/me/blocks/:user_id',
  route('unblockUser', 'Unblock a user', { 204: 'Not blocked', 404: 'No such user' }),
  requireUser,
  validate({ params: shape.blockParam }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_BLOCK', c.var.claims.sub)
    await c.var.db`unblock_person(${c.var.params.user_id})`
    return c.body(null, 204)
  },
)

users.route('/', notifications)

users.patch(
  '/profile',
  route('updateProfile', 'Update the given fields', { 200: shape.user, 403: hidden }),
  requireUser,
  embedAfterwards,
  validate({ json: shape.profileChanges }),
  async (c) => {
    const { is_searchable, ...others } = c.var.json
    // Hiding a profile is never rate-limited.
    if (is_searchable !== false || Object.keys(others).length > 0) {
      await consumeRateLimit('RATE_LIMIT_PROFILE', c.var.claims.sub)
    }
    return sendJson(c, await c.var.db`update_profile(${c.var.json})`)
  },
)

users.put(
  '/profile/interests',
  route('setInterests', 'Replace the set of interests', { 200: shape.profileInterests }),
  requireUser,
  embedAfterwards,
  validate({ json: shape.interestSet }),
  async (c) => {
    await consumeRateLimit('RATE_LIMIT_PROFILE', c.var.claims.sub)
    return sendJson(c, await c.var.db`set_interests(${{ ids: c.var.json.interest_ids }})`)
  },
)

users.patch(
  '/searchable',
  route('setSearchable', 'Show or hide the profile', { 200: shape.searchable, 403: hidden }),
  requireUser,
  embedAfterwards,
  validate({ json: shape.visibility }),
  async (c) => {
    if (c.var.json.is_searchable) await consumeRateLimit('RATE_LIMIT_PROFILE', c.var.claims.sub)
    return sendJson(c, await c.var.db`set_searchable(${c.var.json.is_searchable})`)
  },
)

users.get(
  '/interests',
  route('listInterests', 'All interests', { 200: shape.interest.array() }),
  anonymousUser,
  async (c) => {
    c.header('Cache-Control', 'public, max-age=3600')
    return sendJson(c, await c.var.db`list_interests()`)
  },
)

interface Understood {
  /** What to embed; null for the query as typed. */
  text: string | null
  suggestion: { query: string; words: { from: string; to: string }[] } | null
  /** The query as the database has read it. */
  asked?: unknown
}

/** What the words of a query mean to the profiles and the model. Its statement is short, and waits like a search. */
const understand = async (db: Rpc, request: { q: string; known: string; timeout: number }): Promise<Understood> =>
  request.q.trim() === ''
    ? { text: '', suggestion: null }
    : JSON.parse((await searchLimiter(() => db`understand_query(${request})`)).body)

/** Counts a search or a completion. */
const consumeSearchLimit = (claims: Claims | null, headers: Headers): Promise<void> =>
  claims
    ? consumeRateLimit('RATE_LIMIT_SEARCH', claims.sub)
    : consumeRateLimit('RATE_LIMIT_SEARCH_ANONYMOUS', clientAddress(headers))

users.get(
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
    const timeout = settings.searchTimeout
    const { text, suggestion, asked } = await understand(c.var.db, { q, known: knownWords(q), timeout })
    const request = {
      ...others,
      q,
      asked,
      vector: await queryVector(text ?? textToEmbed(q)),
      model: currentProvider().model,
      interests: filterInterests,
      cities: filterCity,
      countries: filterCountry,
      explain: explain === 'true',
      highlight: highlight === 'true',
      timeout,
    }
    const reply = await searchLimiter(() => c.var.db`search_profiles(${request})`)
    return suggest === 'true' ? c.json({ ...JSON.parse(reply.body), _suggestion: suggestion }) : sendJson(c, reply)
  },
)

users.get(
  '/search/complete',
  route('completeSearch', 'What a search box may go on to', { 200: shape.completions }),
  requireUser,
  validate({ query: shape.completionQuery }),
  async (c) => {
    await consumeSearchLimit(c.var.claims, c.req.raw.headers)
    return sendJson(c, await searchLimiter(() => c.var.db`complete_search(${c.var.query})`))
  },
)

users.get(
  '/:id',
  route('getPublicProfile', 'The public view of a profile', {
    200: shape.publicProfile,
    304: 'Unchanged since the ETag of If-None-Match',
    403: 'The profile is not public',
    404: 'No such profile',
  }),
  withEtag,
  anonymousUser,
  validate({ params: shape.profileParam }),
  async (c) => {
    const profile = await c.var.db`get_public_profile(${c.var.params.id})`
    c.header('Cache-Control', 'public, max-age=3600')
    return sendJson(c, profile)
  },
)

export default { fetch: users.fetch }
