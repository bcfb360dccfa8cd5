import { z } from 'zod'
import { isAlive } from '../_shared/database.ts'
import { door } from '../_shared/door.ts'
import { says } from '../_shared/openapi.ts'

const health = door('health')

const report = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  database: z.enum(['ok', 'unavailable']),
  embeddings: z.strictObject({ provider: z.string(), model: z.string().nullable(), pending: z.int() }),
})

health.get('/', says('Whether the service can do its work', { 200: report, 503: report }), async (c) => {
  const alive = await isAlive().catch(() => false)
  const body = { embeddings: { provider: 'none', model: null, pending: 0 } }
  return alive
    ? c.json({ status: 'ok', database: 'ok', ...body })
    : c.json({ status: 'unavailable', database: 'unavailable', ...body }, 503)
})

export default { fetch: health.fetch }
