import { z } from 'zod'
import { asService, inFlight } from '../_shared/rpc.ts'
import { createApp } from '../_shared/app.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { formatRequestMetrics, gauge, type Sample } from '../_shared/metrics.ts'
import { route } from '../_shared/openapi.ts'
import { requireSecretKey } from '../_shared/auth.ts'

const health = createApp('health')

const report = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  database: z.enum(['ok', 'unavailable']),
  embeddings: z.strictObject({ provider: z.string(), model: z.string(), pending: z.int().nullable() }),
})

health.get('/', route('getHealth', 'Whether the service is up', { 200: report, 503: report }), async (c) => {
  const { name, model } = currentProvider()
  const described = await asService`describe_search()`.catch(() => null)
  const pending: number | null = described && JSON.parse(described).waiting
  const status = described ? 'ok' : 'unavailable'
  if (!described) c.header('X-Error-Code', 'unavailable')
  const embeddings = { provider: name, model, pending }
  return c.json({ status, database: status, embeddings }, described ? 200 : 503)
})

type Channel = Record<'depth' | 'age' | 'dead', number>

/** What private.describe_service returns. */
interface Description {
  search: { waiting: number; dead: number; oldest: number }
  outbox: Record<string, Channel>
  /** Null where nobody has noted them. */
  migrations: { version: string; sha256: string | null }[] | null
  data: { name: string; checksum: string }[]
}

const databaseMetrics = ({ search: { waiting, oldest, dead }, outbox, migrations, data }: Description): string => {
  const of = (key: keyof Channel): Sample[] =>
    Object.entries(outbox).map(([channel, counts]) => [`channel="${channel}"`, counts[key]])
  return [
    gauge('embedding_queue_waiting', 'Number of texts waiting to be embedded.', waiting),
    gauge('embedding_queue_oldest_seconds', 'Age of the oldest text waiting to be embedded, in seconds.', oldest),
    gauge('embedding_queue_dead', 'Number of texts that failed eight times (dead letters).', dead),
    gauge(
      'database_migration',
      'The migrations that the database has, by version and the hash of their text without white space and semicolons.',
      (migrations ?? []).map(({ version, sha256 }) => [`version="${version}",sha256="${sha256 ?? ''}"`, 1]),
    ),
    gauge(
      'database_data',
      'The data files that were loaded, by name and MD5.',
      data.map(({ name, checksum }) => [`name="${name}",md5="${checksum}"`, 1]),
    ),
    gauge('outbox_depth', 'Number of rows of the outbox that wait, dead letters excluded, by channel.', of('depth')),
    gauge(
      'outbox_age_seconds',
      'For how long the oldest row of the outbox could have been sent, in seconds, by channel.',
      of('age'),
    ),
    gauge('outbox_dead_letters', 'Number of rows that failed eight times, by channel.', of('dead')),
  ].join('')
}

health.get(
  '/metrics',
  route('getMetrics', 'Metrics for Prometheus; needs the secret key, in `apikey` or as a bearer token', {
    200: z.string().meta({ mediaType: 'text/plain', description: 'Prometheus text format 0.0.4' }),
  }),
  requireSecretKey,
  async (c) => {
    const described: Description | null = await asService`describe_service()`.then(JSON.parse).catch(() => null)
    const body = formatRequestMetrics() +
      gauge('database_statements_in_flight', 'Number of statements that run or wait for a connection.', inFlight()) +
      gauge('database_up', 'Whether the database is reachable.', described ? 1 : 0) +
      (described ? databaseMetrics(described) : '')
    return c.body(body, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  },
)

export default { fetch: health.fetch }
