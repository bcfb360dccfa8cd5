import { z } from 'zod'
import { asWorker } from '../_shared/database.ts'
import { door } from '../_shared/door.ts'
import { provider } from '../_shared/embeddings/chosen.ts'
import { says } from '../_shared/openapi.ts'

const health = door('health')

const report = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  database: z.enum(['ok', 'unavailable']),
  embeddings: z.strictObject({ provider: z.string(), model: z.string(), pending: z.int().nullable() }),
})

health.get('/', says('Whether the service can do its work', { 200: report, 503: report }), async (c) => {
  const { name, model } = provider()
  const pending = await asWorker`count_pending_embeddings()`.then(Number).catch(() => null)
  const status = pending === null ? 'unavailable' : 'ok'
  return c.json(
    { status, database: status, embeddings: { provider: name, model, pending } },
    pending === null ? 503 : 200,
  )
})

export default { fetch: health.fetch }
