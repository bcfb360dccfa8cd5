/**
 * Run by tls.test.ts: sends twenty concurrent statements over four connections. Prints {"answers": 20, "tls":
 * ["TLSv1.3"]}, or {"error": "…"}.
 *   deno run -A tests/postgres/connect_with_tls.ts URL      (DATABASE_CA_CERTIFICATE)
 */
import { openPool } from '../../functions/_shared/postgres.ts'

const limits = { connections: 4, waitMilliseconds: 4000, answerMilliseconds: 6000, idleMilliseconds: 60_000 }
const query = openPool(Deno.args[0]!, limits, { ca: Deno.env.get('DATABASE_CA_CERTIFICATE') })
const statement = 'select version from pg_stat_ssl where pid = pg_backend_pid()'
try {
  const answers = await Promise.all(Array.from({ length: 20 }, () => query(statement, [])))
  const tls = [...new Set(answers.map(([row]) => row!.version))]
  console.log(JSON.stringify({ answers: answers.length, tls }))
} catch (error) {
  const { code, message, cause } = error as Error & { code?: string }
  console.log(JSON.stringify({ error: code ?? (cause as { code?: string } | undefined)?.code ?? message }))
}
Deno.exit(0)
