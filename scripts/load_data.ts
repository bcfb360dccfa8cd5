/** Loads sql/data into the database of DATABASE_URL, such as a project on Supabase: `npm run data`. */
import postgres from 'postgres'
import { loadPlaces } from '../supabase/local/load_data.ts'

const url = Deno.env.get('DATABASE_URL')
if (!url) {
  console.error('Set DATABASE_URL to the connection string of the database, as its owner')
  Deno.exit(1)
}
// Supavisor in transaction mode knows no prepared statements.
const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} })
const isNew = await loadPlaces((text, values) => sql.unsafe(text, values as never[]))
console.log(isNew ? 'The places are loaded' : 'The places were there already')
await sql.end()
