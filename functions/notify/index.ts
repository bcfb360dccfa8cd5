import { z } from 'zod'
import { createApp } from '../_shared/app.ts'
import { route } from '../_shared/openapi.ts'
import { requireSecretKey } from '../_shared/auth.ts'
import { notify } from './run.ts'

const app = createApp('notify')

app.post(
  '/',
  route(
    'sendNotifications',
    'Send what is due to devices, mailboxes and the webhook; called by the schedule with the secret key',
    { 200: z.strictObject({ planned: z.int(), pushes: z.int(), mails: z.int(), webhooks: z.int() }) },
  ),
  requireSecretKey,
  async (c) => c.json(await notify()),
)

export default { fetch: app.fetch }
