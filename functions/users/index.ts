import { etag, RETAINED_304_HEADERS } from 'hono/etag'
import { anonymousUser, asUser, isSecretKey, requireUser } from '../_shared/auth.ts'
import { commonHeaders, createApp, sendJson, sendPage } from '../_shared/app.ts'
import { clientAddress } from '../_shared/client_address.ts'
import { removeAvatars } from '../_shared/files.ts'
import { route, withDocs } from '../_shared/openapi.ts'
import { consumeRateLimit } from '../_shared/rate_limit.ts'
import { accountShape, newAccount, secretKeyHeader } from '../_shared/schemas/accounts.ts'
import { myReservation, reservationPage } from '../_shared/schemas/reservations.ts'
import * as shape from '../_shared/schemas/users.ts'
import { settings } from '../_shared/settings.ts'
import { createAccount } from '../_shared/sign_up.ts'
import { validate } from '../_shared/validate.ts'
import { notifications } from './notifications.ts'
import { changeLimiter, profile } from './profile.ts'
import { safety } from './safety.ts'
import { search } from './search.ts'

const users = createApp('users')

// A 304 keeps the headers that CORS and request tracing need.
const withEtag = etag({
  retainedHeaders: [...RETAINED_304_HEADERS, ...commonHeaders.map(([name]) => name), 'X-Request-Id'],
})

users.post(
  '/',
  route('createUser', 'Create a user, for administration and seeding', {
    201: accountShape,
    403: 'Only the secret key may create users here',
    409: 'The e-mail is taken',
  }, ['switched_off', 'forbidden', 'email_taken']),
  validate({ headers: secretKeyHeader, json: newAccount }),
  async (c) => {
    const { apikey } = c.var.headers
    if (!await isSecretKey(apikey)) await consumeRateLimit('RATE_LIMIT_SIGNUP', clientAddress(c.req.raw.headers))
    return c.json(await createAccount(c.var.json, apikey), 201)
  },
)

users.get(
  '/me',
  route('getMe', 'The caller with profile and interests', { 200: shape.user }),
  asUser({ query: shape.meQuery }),
  async (c) => sendJson(c, await (c.var.query.more ? c.var.db`get_me_and_choices()` : c.var.db`get_me()`)),
)

users.get(
  '/me/export',
  route('exportMe', 'All data of the caller, including received messages', { 200: shape.exported }),
  asUser({}, 'RATE_LIMIT_EXPORT'),
  async (c) => {
    // The first chunk is read before the status is sent, so that errors still get theirs.
    const first = await c.var.db`export_me(${null}, ${settings.PARTNER_EMAIL})`
    const chunks = async function* (): AsyncGenerator<string> {
      yield first.body
      for (let { place } = first.metadata; place;) {
        const next = await c.var.db`export_me(${place}, ${settings.PARTNER_EMAIL})`
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
    { 204: 'Erased' },
  ),
  requireUser,
  async (c) => {
    // First the avatars: if the process dies in between, the user can still retry.
    await removeAvatars(c.var.db, c.var.token)
    await changeLimiter(() => c.var.db`erase_me()`)
    return c.body(null, 204)
  },
)

users.get(
  '/me/reservations',
  route('listMyReservations', "A page of the caller's reservations, newest first; the Link header names the next one", {
    200: [myReservation.array(), 'Link'],
  }),
  asUser({ query: reservationPage }),
  async (c) => sendPage(c, await c.var.db`list_my_reservations(${c.var.query})`, c.var.query),
)

for (const routes of [safety, notifications, profile, search]) users.route('/', routes)

users.get(
  '/interests',
  route('listInterests', 'All interests', { 200: shape.interest.array() }),
  anonymousUser,
  async (c) => {
    c.header('Cache-Control', 'public, max-age=3600')
    return sendJson(c, await c.var.db`list_interests()`)
  },
)

users.get(
  '/:id',
  route('getPublicProfile', 'The public view of a profile', {
    200: [shape.publicProfile, 'ETag'],
    304: ['Unchanged since the ETag of If-None-Match', 'ETag'],
    403: 'The profile is not public',
    404: 'No such profile',
  }, ['not_public']),
  withDocs({ headers: shape.etagHeader }, withEtag),
  anonymousUser,
  validate({ params: shape.profileParam, query: shape.profileQuery }),
  async (c) => {
    const { db, params: { id }, query: { more } } = c.var
    const profile = await (more ? db`get_public_profile_and_answers(${id})` : db`get_public_profile(${id})`)
    c.header('Cache-Control', 'public, max-age=3600')
    return sendJson(c, profile)
  },
)

export default { fetch: users.fetch }
