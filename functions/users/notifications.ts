import { Hono } from 'hono'
import { createMiddleware } from 'hono/factory'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { anonymousUser, asUser, requireUser } from '../_shared/auth.ts'
import { sendJson, sendNothing } from '../_shared/app.ts'
import { httpError } from '../_shared/errors.ts'
import { route } from '../_shared/openapi.ts'
import * as shape from '../_shared/schemas/notifications.ts'
import { vapidKeys } from '../_shared/settings.ts'
import { validate } from '../_shared/validate.ts'
import { pageHeaders, unsubscribePage } from './unsubscribe_page.ts'

export const notifications = new Hono()

notifications.get(
  '/me/devices',
  route('listDevices', "The caller's devices, newest first", { 200: shape.device.array() }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`list_devices()`),
)

notifications.put(
  '/me/devices/:device',
  route('registerDevice', 'Register a Web Push subscription, at most ten', {
    204: 'Registered',
  }, ['invalid', 'too_many']),
  asUser({ params: shape.deviceParam, json: shape.newDevice }, 'RATE_LIMIT_DEVICE'),
  async (c) => sendNothing(c, await c.var.db`put_device(${c.var.params.device}, ${c.var.json})`),
)

notifications.delete(
  '/me/devices/:device',
  route('removeDevice', 'Remove a device', { 204: 'Not registered' }),
  asUser({ params: shape.deviceParam }),
  async (c) => sendNothing(c, await c.var.db`delete_device(${c.var.params.device})`),
)

notifications.get(
  '/me/notifications',
  route('getNotificationSettings', 'What the caller is told while away, and when', { 200: shape.notificationSettings }),
  requireUser,
  async (c) => sendJson(c, await c.var.db`get_notification_settings()`),
)

notifications.patch(
  '/me/notifications',
  route('updateNotificationSettings', 'Change the given settings', { 200: shape.notificationSettings }),
  asUser({ json: shape.notificationChanges }, 'RATE_LIMIT_DEVICE'),
  async (c) => sendJson(c, await c.var.db`update_notification_settings(${c.var.json})`),
)

notifications.get(
  '/push-key',
  route('getPushKey', 'The public key for Web Push subscriptions', {
    200: shape.pushKey,
    404: 'Web Push is not set up',
  }),
  (c) => {
    const vapid = vapidKeys()
    if (!vapid) return httpError('not_found', 'Web Push is not set up here')
    return c.json({ public_key: vapid.publicKey }, 200, { 'Cache-Control': 'public, max-age=3600' })
  },
)

/** Browsers get a page, for an error as well. */
const pageForBrowsers = createMiddleware(async (c, next) => {
  await next()
  if (c.res.ok) c.header('Vary', 'Accept')
  if (!c.req.header('Accept')?.includes('text/html')) return
  const page = unsubscribePage(await c.res.json())
  const headers = { ...Object.fromEntries(c.res.headers), ...pageHeaders }
  c.res = c.body(page, c.res.status as ContentfulStatusCode, headers)
})

const answers = { 200: shape.mailSetting, 404: 'The token is of no mail of ours' }

notifications.get(
  '/unsubscribe',
  route('checkUnsubscribe', 'Whether the token of a mail still gets mails; a page that asks, for browsers', answers),
  pageForBrowsers,
  anonymousUser,
  validate({ query: shape.unsubscribeQuery }),
  async (c) => sendJson(c, await c.var.db`unsubscribe(${c.var.query.token}, ${false})`),
)

notifications.post(
  '/unsubscribe',
  route('unsubscribe', 'Turn off the mails by the token of one, without log-in (RFC 8058)', answers),
  pageForBrowsers,
  anonymousUser,
  validate({ query: shape.unsubscribeQuery }),
  async (c) => sendJson(c, await c.var.db`unsubscribe(${c.var.query.token}, ${true})`),
)
