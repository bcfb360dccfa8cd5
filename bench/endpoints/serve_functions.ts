/**
 * The Edge Functions in one process, without the gateway. --bare replaces each statement by plain SQL that reads the
 * same rows as the owner of the tables (bare.ts): the same request without permission checks.
 *   EDGE_DATABASE_URL=… JWT_SECRET=… deno run -A bench/endpoints/serve_functions.ts [--bare]
 */
import postgres from 'postgres'
import { provideQuery } from '../../functions/_shared/rpc.ts'
import { project, settings } from '../../functions/_shared/settings.ts'
import auth from '../../functions/auth/index.ts'
import conversations from '../../functions/conversations/index.ts'
import embed from '../../functions/embed/index.ts'
import health from '../../functions/health/index.ts'
import users from '../../functions/users/index.ts'
import { bareStatement, withoutTriggers } from './bare.ts'

if (Deno.args.includes('--bare')) {
  const sql = postgres(project.databaseUrl!, { max: settings.DATABASE_POOL, connection: withoutTriggers })
  provideQuery((text, values) => {
    // Rate limits with a statement of their own are counted in both modes; bareSql leaves out the one of a send.
    if (text.startsWith('select private.')) return sql.unsafe(text, values as never[], { prepare: true })
    const { statement, parameters } = bareStatement(text, values)
    return sql.unsafe(statement, parameters as never[], { prepare: true })
  })
}

const functions: Record<string, { fetch: (request: Request) => Response | Promise<Response> }> = {
  auth,
  conversations,
  embed,
  health,
  users,
}
Deno.serve({
  hostname: '127.0.0.1',
  port: 0,
  onListen: ({ port }) => console.error(`ready http://127.0.0.1:${port}`),
}, (request) => functions[/^\/(\w+)/.exec(new URL(request.url).pathname)?.[1] ?? 'health']!.fetch(request))
