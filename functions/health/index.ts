import { z } from 'zod'
import { asService, statements } from '../_shared/rpc.ts'
import { createApp } from '../_shared/app.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { formatMetric, formatRequestMetrics } from '../_shared/metrics.ts'
import { route } from '../_shared/openapi.ts'
import { requireSecretKey } from '../_shared/secret_key.ts'

const health = createApp('health')

const report = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  database: z.enum(['ok', 'unavailable']),
  embeddings: z.strictObject({ provider: z.string(), model: z.string(), pending: z.int().nullable() }),
})

health.get('/', route('getHealth', 'Whether the service is up', { 200: report, 503: report }), async (c) => {
  const { name, model } = currentProvider()
  // Any other answer than a number means that the database is not working.
  const pending = await asService`count_pending_embeddings()`
    .then((text) => /^\d+$/.test(text) ? Number(text) : null)
    .catch(() => null)
  const status = pending === null ? 'unavailable' : 'ok'
  if (pending === null) c.header('X-Error-Code', 'unavailable')
  return c.json(
    { status, database: status, embeddings: { provider: name, model, pending } },
    pending === null ? 503 : 200,
  )
})

interface Embeddings {
  waiting: number
  dead: number
  oldest: number
}

const gauge = (name: string, help: string, value: number): string => formatMetric(name, 'gauge', help, [['', value]])

const embeddingMetrics = ({ waiting, dead, oldest }: Embeddings): string =>
  gauge('embedding_queue_waiting', 'Number of texts waiting to be embedded.', waiting) +
  gauge('embedding_queue_oldest_seconds', 'Age of the oldest text waiting to be embedded, in seconds.', oldest) +
  gauge('embedding_queue_dead', 'Number of texts that failed eight times (dead letters).', dead)

interface Channel {
  depth: number
  age: number
  dead: number
}

const outboxMetrics = (outbox: Record<string, Channel> | null): string => {
  const samples = (key: keyof Channel): [string, number][] =>
    Object.entries(outbox ?? {}).map(([channel, counts]) => [`channel="${channel}"`, counts[key]])
  return outbox === null ? '' : formatMetric(
    'outbox_depth',
    'gauge',
    'Number of rows of the outbox that wait, dead letters excluded, by channel.',
    samples('depth'),
  ) + formatMetric(
    'outbox_age_seconds',
    'gauge',
    'For how long the oldest row of the outbox could have been sent, in seconds, by channel.',
    samples('age'),
  ) +
    formatMetric('outbox_dead_letters', 'gauge', 'Number of rows that failed eight times, by channel.', samples('dead'))
}

interface Migration {
  version: string
  sha256: string | null
}

const migrationMetrics = (migrations: Migration[] | null): string =>
  migrations === null ? '' : formatMetric(
    'database_migration',
    'gauge',
    'The migrations that the database has, by version and the hash of their text without white space and semicolons.',
    migrations.map(({ version, sha256 }) => [`version="${version}",sha256="${sha256 ?? ''}"`, 1]),
  )

const dataMetrics = (data: { name: string; checksum: string }[] | null): string =>
  data === null ? '' : formatMetric(
    'database_data',
    'gauge',
    'The data files that were loaded, by name and MD5.',
    data.map(({ name, checksum }) => [`name="${name}",md5="${checksum}"`, 1]),
  )

health.get(
  '/metrics',
  route('getMetrics', 'Metrics for Prometheus; needs the secret key, in `apikey` or as a bearer token', {
    200: z.string().meta({ mediaType: 'text/plain', description: 'Prometheus text format 0.0.4' }),
  }),
  requireSecretKey,
  async (c) => {
    const inFlight = statements.inFlight()
    const embeddings: Embeddings | null = await asService`describe_search()`.then(JSON.parse).catch(() => null)
    const migrations: Migration[] | null = await asService`list_migrations()`.then(JSON.parse).catch(() => null)
    const data = await asService`list_loaded_data()`.then(JSON.parse).catch(() => null)
    const outbox: Record<string, Channel> | null = await asService`describe_outbox()`.then(JSON.parse).catch(() => null)
    const body = formatRequestMetrics() +
      gauge('database_statements_in_flight', 'Number of statements that run or wait for a connection.', inFlight) +
      gauge('database_up', 'Whether the database is reachable.', embeddings ? 1 : 0) +
      (embeddings
        ? embeddingMetrics(embeddings) + migrationMetrics(migrations) + dataMetrics(data) + outboxMetrics(outbox)
        : '')
    return c.body(body, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  },
)

export default { fetch: health.fetch }
