/**
 * The Data API and the Auth of @supabase/lite, on a database that has the data already.
 *   DATABASE_URL=… JWT_SECRET=… deno run -A bench/endpoints/serve_lite.ts
 */
import { App } from '@supabase/lite'
import { openPostgres } from '../../supabase/local/database.ts'
import { publishableKey, secretKey } from './keys.ts'

const database = await openPostgres(Deno.env.get('DATABASE_URL')!)
const app = new App({
  connection: database.connection,
  auth: {
    enabled: true,
    jwt_secret: Deno.env.get('JWT_SECRET')!,
    publishable_key: publishableKey,
    secret_key: secretKey,
  },
})
await app.ensureSystemSchema()
Deno.serve({
  hostname: '127.0.0.1',
  port: 0,
  onListen: ({ port }) => console.error(`ready http://127.0.0.1:${port}`),
}, (request, info) => app.fetch(request, { peerAddress: info.remoteAddr.hostname }))
