/** Writes supabase/migrations from sql/schema: the schema, then Realtime's policies. `--check` only compares. */
import { readdirSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const realtimePolicies = '50_changes/40_realtime_policies.sql'

const names = readdirSync(new URL('sql/schema/', root), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.sql')).sort()
const sources = (selected: string[]): string =>
  selected.map((name) => Deno.readTextFileSync(new URL(`sql/schema/${name}`, root)).trim()).join('\n\n')

const header = '-- Derived from sql/schema by `npm run baseline`; edit the schema instead.\n\n'
const migrations = {
  '20261122000000_schema.sql': sources(names.filter((name) => name !== realtimePolicies)),
  // A migration of its own, because the platform may refuse policies on its table (see docs/deploy.md).
  '20261122000001_realtime_policies.sql': sources([realtimePolicies]),
}

for (const [name, sql] of Object.entries(migrations)) {
  const file = new URL(`supabase/migrations/${name}`, root)
  const text = `${header}${sql}\n`
  if (!Deno.args.includes('--check')) {
    Deno.writeTextFileSync(file, text)
  } else if (Deno.readTextFileSync(file) !== text) {
    console.error(`supabase/migrations/${name} differs from sql/schema; run npm run baseline`)
    Deno.exit(1)
  }
}
