// Our own Realtime under the paths of Supabase's server, to try this runner.
import { Hono } from 'hono'
import { openPostgres } from '../../../supabase/local/database.ts'
import { openRealtime } from '../../../supabase/local/realtime/server.ts'
import { testKeys } from '../../tools/stack.ts'

const database = await openPostgres(Deno.env.get('DATABASE_URL')!)
const { routes } = await openRealtime(database, testKeys, true)
const server = new Hono()
server.get('/healthcheck', (c) => c.text('ok'))
server.route('/socket', routes)
server.route('/', routes)
Deno.serve({ hostname: '127.0.0.1', port: Number(Deno.env.get('PORT')), onListen: () => {} }, server.fetch)
