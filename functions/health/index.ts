import { z } from 'zod'
import { asService } from '../_shared/rpc.ts'
import { door } from '../_shared/app.ts'
import { provider } from '../_shared/embeddings/chosen.ts'
import { validate } from '../_shared/validate.ts'
import { log } from '../_shared/log.ts'
import { countedRequests, metric } from '../_shared/metrics.ts'
import { route } from '../_shared/openapi.ts'
import { statements } from '../_shared/postgres.ts'
import { secretKeyHolder } from '../_shared/secret_key.ts'

const health = door('health')

const report = z.strictObject({
  status: z.enum(['ok', 'unavailable']),
  database: z.enum(['ok', 'unavailable']),
  embeddings: z.strictObject({ provider: z.string(), model: z.string(), pending: z.int().nullable() }),
})

health.get('/', route('Whether the service can do its work', { 200: report, 503: report }), async (c) => {
  const { name, model } = provider()
  // A database that answers with anything but a number answers nobody as it should.
  const pending = await asService`count_pending_embeddings()`
    .then((text) => /^\d+$/.test(text) ? Number(text) : null)
    .catch(() => null)
  const status = pending === null ? 'unavailable' : 'ok'
  return c.json(
    { status, database: status, embeddings: { provider: name, model, pending } },
    pending === null ? 503 : 200,
  )
})

interface SearchReport {
  waiting: number
  dead: number
  oldest: number
  /** null where there was none yet. */
  audit: Record<string, number> | null
  audit_age: number | null
}

/** What the search is like now, with an audit no older than so many seconds, or what is there where the audit fails; null without a database. */
const reportSearch = async (oldestAudit: number): Promise<{ search: SearchReport; failed: boolean } | null> => {
  const search: SearchReport | null = await asService`describe_search()`.then(JSON.parse).catch(() => null)
  if (!search) return null
  if (search.audit_age !== null && search.audit_age <= oldestAudit) return { search, failed: false }
  // In a statement of its own, because it reads everything once: a database too large for it in five seconds is up all the same.
  try {
    return { search: JSON.parse(await asService`report_search(${oldestAudit})`), failed: false }
  } catch (error) {
    const { name, code } = error as Error & { code?: string }
    log('warn', 'The index was not audited', { name, code })
    return { search, failed: true }
  }
}

const searchMetrics = ({ waiting, dead, oldest, audit, audit_age }: SearchReport, failed: boolean): string =>
  metric('embedding_queue_waiting', 'gauge', 'Texts that wait for a vector.', [['', waiting]]) +
  metric('embedding_queue_oldest_seconds', 'gauge', 'How long the first of them has waited.', [['', oldest]]) +
  metric('embedding_queue_dead', 'gauge', 'Texts that were given up after eight attempts.', [['', dead]]) +
  metric('search_audit_failed', 'gauge', 'Whether an audit was due and failed.', [['', failed ? 1 : 0]]) +
  (audit === null || audit_age === null ? '' : metric(
    'search_audit_findings',
    'gauge',
    'Where the index and the profiles differ; 0 where all is well.',
    Object.entries(audit).map(([finding, amount]) => [`finding="${finding}"`, amount]),
  ) + metric('search_audit_age_seconds', 'gauge', 'How long ago that was looked at.', [['', audit_age]]))

const seconds = z.string().regex(/^\d{1,6}$/, 'must be a number of seconds').transform(Number)

health.get(
  '/metrics',
  route('What to watch, as Prometheus reads it; with the secret key, in `apikey` or as a bearer', {
    200: z.string().meta({ mediaType: 'text/plain', description: 'Prometheus text format 0.0.4' }),
  }),
  secretKeyHolder,
  validate({
    query: z.object({ oldest_audit: seconds.default(300).meta({ standsFor: { type: 'integer', default: 300 } }) }),
  }),
  async (c) => {
    const { underWay } = statements
    const report = await reportSearch(c.var.query.oldest_audit)
    const body = countedRequests() +
      metric('database_statements_under_way', 'gauge', 'Statements that run or wait for a connection.', [[
        '',
        underWay,
      ]]) +
      metric('database_up', 'gauge', 'Whether the database answers.', [['', report ? 1 : 0]]) +
      (report ? searchMetrics(report.search, report.failed) : '')
    return c.body(body, 200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' })
  },
)

export default { fetch: health.fetch }
