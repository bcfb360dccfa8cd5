import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import { asUser } from '../_shared/auth.ts'
import { sendJson } from '../_shared/app.ts'
import { limitConcurrency } from '../_shared/concurrency.ts'
import { drainSoon } from '../_shared/embeddings/drain.ts'
import { route } from '../_shared/openapi.ts'
import { consumeRateLimit } from '../_shared/rate_limit.ts'
import * as shape from '../_shared/schemas/users.ts'
import { settings } from '../_shared/settings.ts'

const hidden = 'The account is deactivated, or an admin has hidden the profile and it cannot be made searchable'

// A change with many new words takes as long as ten reads, and a few people would take all connections.
const quarter = () => Math.max(1, Math.floor(settings.DATABASE_POOL / 4))
export const { run: changeLimiter } = limitConcurrency(quarter, 100, 4000)

/** Embeds a changed profile after the response instead of waiting for the schedule. */
const embedAfterwards = createMiddleware(async (c, next) => {
  await next()
  if (c.res.ok) drainSoon()
})

export const profile = new Hono()

profile.patch(
  '/profile',
  route('updateProfile', 'Update the given fields', { 200: shape.user, 403: hidden }, ['hidden']),
  embedAfterwards,
  asUser({ json: shape.profileChanges }),
  async (c) => {
    const { is_searchable, ...others } = c.var.json
    // Hiding a profile is never rate-limited.
    if (is_searchable !== false || Object.keys(others).length > 0) {
      await consumeRateLimit('RATE_LIMIT_PROFILE', c.var.claims.sub)
    }
    return sendJson(c, await changeLimiter(() => c.var.db`update_profile(${c.var.json})`))
  },
)

profile.put(
  '/profile/interests',
  route('setInterests', 'Replace the set of interests', { 200: shape.profileInterests }),
  embedAfterwards,
  asUser({ json: shape.interestSet }, 'RATE_LIMIT_PROFILE'),
  async (c) => sendJson(c, await changeLimiter(() => c.var.db`set_interests(${{ ids: c.var.json.interest_ids }})`)),
)

profile.patch(
  '/searchable',
  route('setSearchable', 'Show or hide the profile', { 200: shape.searchable, 403: hidden }, ['hidden']),
  embedAfterwards,
  asUser({ json: shape.visibility }),
  async (c) => {
    if (c.var.json.is_searchable) await consumeRateLimit('RATE_LIMIT_PROFILE', c.var.claims.sub)
    return sendJson(c, await changeLimiter(() => c.var.db`set_searchable(${c.var.json.is_searchable})`))
  },
)
