// Run by audit_timeout.test.ts: the audit of the search index times out. Prints the metrics before the first audit that
// succeeded, and after one.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import health from '../../functions/health/index.ts'

let audit: object = { audit: null, audit_age: null }
provideQuery((text) => {
  if (text.includes('report_search')) return Promise.reject(Object.assign(new Error('seeded'), { code: '57014' }))
  if (text.includes('list_migrations')) return Promise.resolve([{ body: '[]' }])
  if (text.includes('describe_outbox')) return Promise.resolve([{ body: '{}' }])
  return Promise.resolve([{ body: JSON.stringify({ waiting: 3, dead: 1, oldest: 9.5, ...audit }) }])
})
console.warn = () => {}
console.info = () => {}

const scrape = async () => {
  const headers = { apikey: Deno.env.get('SUPABASE_SECRET_KEY')! }
  const answer = await health.fetch(new Request('http://x/health/metrics', { headers }))
  const gauges = /^(database_up|embedding_queue_waiting|search_audit_\S+) (\S+)$/gm
  return Object.fromEntries([...(await answer.text()).matchAll(gauges)].map(([, name, value]) => [name, Number(value)]))
}
const first = await scrape()
audit = { audit: { missing: 2 }, audit_age: 301 }
console.log(JSON.stringify([first, await scrape()]))
