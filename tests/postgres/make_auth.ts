// Creates the tables of the local stack's Auth in a database that has none.
//   deno run -A tests/postgres/make_auth.ts URL
import { App } from '@supabase/lite'
import { openPostgres } from '../../supabase/local/database.ts'

const database = await openPostgres(Deno.args[0]!)
const app = new App({ connection: database.connection, auth: { enabled: true, jwt_secret: 'x'.repeat(32) } })
await app.ensureSystemSchema()
console.log('{}')
Deno.exit(0)
