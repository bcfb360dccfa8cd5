import { z } from 'zod'
import { door } from '../_shared/app.ts'
import { route } from '../_shared/openapi.ts'
import { secretKeyHolder } from '../_shared/secret_key.ts'
import { drain } from '../_shared/embeddings/drain.ts'

const embed = door('embed')

embed.post(
  '/',
  route('Make the vectors that are due; for the schedule, with the secret key', {
    200: z.strictObject({ made: z.int() }),
  }),
  secretKeyHolder,
  async (c) => c.json({ made: await drain() }),
)

export default { fetch: embed.fetch }
