import { z } from 'zod'
import { door } from '../_shared/door.ts'
import { input } from '../_shared/input.ts'
import { says } from '../_shared/openapi.ts'
import { refuse } from '../_shared/problem.ts'
import { isSecretKey } from '../_shared/secret_key.ts'
import { drain } from './drain.ts'

const embed = door('embed')

embed.post(
  '/',
  says('Make the vectors that are due; for the schedule, with the secret key', {
    200: z.strictObject({ made: z.int() }),
    403: 'Not the secret key',
  }),
  input({ headers: z.object({ apikey: z.string().optional() }) }),
  async (c) => {
    if (!await isSecretKey(c.var.headers.apikey)) {
      refuse(403, 'The secret key is needed')
    }
    return c.json({ made: await drain() })
  },
)

export default { fetch: embed.fetch }
