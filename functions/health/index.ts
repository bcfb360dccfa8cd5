import { z } from 'zod'
import { asService } from '../_shared/rpc.ts'
import { createApp } from '../_shared/app.ts'
import { currentProvider } from '../_shared/embeddings/current_provider.ts'
import { validate } from '../_shared/validate.ts'
import { log } from '../_shared/log.ts'
import { formatMetric, formatRequestMetrics } from '../_shared/metrics.ts'
import { route } from '../_shared/openapi.ts'
import { statements } from '../_shared/postgres.ts'
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

interface SearchReport {
  waiting: number
  dead: number
  oldest: number
  /** null before the first audit. */
  audit: Record<string, number> | null
  audit_age: number | null
}

/** The state of the search, with a new audit if the last one is older than this. Null without a database. */
const reportSearch = async (maxAuditAge: number): Promise<{ search: SearchReport; failed: boolean } | null> => {
  const search: SearchReport | null = await asService`describe_search()`.then(JSON.parse).catch(() => null)
  if (!search) return null
  if (search.audit_age !== null && search.audit_age <= maxAuditAge) return { search, failed: false }
  // A separate statement, because it reads every profile: a database too large for it within 5 s is still up.
  try {
    return { search: JSON.parse(await asService`report_search(${maxAuditAge})`), failed: false }
  } catch (error) {
    const { name, code } = error as Error & { code?: string }
    log('warn', 'Search index audit failed', { name, code })
    return { search, failed: true }
  }
}

const gauge = (name: string, help: string, value: number): string => formatMetric(name, 'gauge', help, [['', value]])

const searchMetrics = ({ waiting, dead, oldest, audit, audit_age }: SearchReport, failed: boolean): string =>
  gauge('embedding_queue_waiting', 'Number of texts waiting to be embedded.', waiting) +
  gauge('embedding_queue_oldest_seconds', 'Age of the oldest text waiting to be embedded, in seconds.', oldest) +
  gauge('embedding_queue_dead', 'Number of texts that failed eight times (dead letters).', dead) +
  gauge('search_audit_failed', 'Whether the last due audit of the search index failed.', failed ? 1 : 0) +
  (audit === null || audit_age === null ? '' : formatMetric(
    'search_audit_findings',
    'gauge',
    'Differences between search index and profiles, by finding.',
    Object.entries(audit).map(([finding, amount]) => [`finding="${finding}"`, amount]),
  ) + gauge('search_audit_age_seconds', 'Age of the last audit of the search index, in seconds.', audit_age))

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

const seconds = z.string().regex(/^\d{1,6}$/, 'must be a number of seconds').transform(Number)

health.get(
  '/metrics',
  route('getMetrics', 'Metrics for Prometheus; needs the secret key, in `apikey` or as a bearer token', {
    200: z.string().meta({ mediaType: 'text/plain', description: 'Prometheus text format 0.0.4' }),
  }),
  requireSecretKey,
  validate({
    query: z.object({
      oldest_audit: seconds.default(300).meta({ jsonSchema: { type: 'integer', default: 300 } })
        .describe('In seconds: an older audit of the search index is repeated'),
    }),
  }),
  async (c) => {
    const { inFlight } = statements
    const report = await reportSearch(c.var.query.oldest_audit)
    const migrations: Migration[] | null = await asService`list_migrations()`.then(JSON.parse).catch(() => null)
    const outbox: Record<string, Channel> | null = await asService`describe_outbox()`.then(JSON.parse).catch(() => null)
    const body = formatRequestMetrics() +
      gauge('database_statements_in_flight', 'Number of statements that run or wait for a connection.', inFlight) +
      gauge('database_up', 'Whether the database is reachable.', report ? 1 : 0) +
      (report ? searchMetrics(report.search, report.failed) + migrationMetrics(migrations) + outboxMetrics(outbox) : '')
    return c.body(body, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  },
)

export default { fetch: health.fetch }
