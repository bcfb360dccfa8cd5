import { z } from 'zod'
import { createApp } from '../_shared/app.ts'
import { route } from '../_shared/openapi.ts'
import { requireSecretKey } from '../_shared/auth.ts'
import { drain } from '../_shared/embeddings/drain.ts'

const embed = createApp('embed')

embed.post(
  '/',
  route('embedQueue', 'Embed the texts in the queue; called by the schedule with the secret key', {
    200: z.strictObject({ made: z.int() }),
  }),
  requireSecretKey,
  async (c) => c.json({ made: await drain() }),
)

export default { fetch: embed.fetch }
