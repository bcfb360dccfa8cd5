/**
 * Writes the first migrations from sql/schema, in load order; `--check` only compares. Once they have shipped, a change of sql/schema comes
 * with a migration of its own, and this file goes.
 */
const schema = new URL('../../sql/schema/', import.meta.url)
const files = [...Deno.readDirSync(schema)].map((file) => file.name).sort()
const migrations = {
  '20261121000000_accounts_conversations_messages.sql': files.filter((file) => file < '70'),
  '20261121000001_search.sql': files.filter((file) => file >= '70'),
}
for (const [name, parts] of Object.entries(migrations)) {
  const migration = new URL(`../migrations/${name}`, import.meta.url)
  const text = parts.map((file) => Deno.readTextFileSync(new URL(file, schema))).join('\n')
  if (!Deno.args.includes('--check')) {
    Deno.writeTextFileSync(migration, text)
  } else if (Deno.readTextFileSync(migration) !== text) {
    console.error(`supabase/migrations/${name} is not what sql/schema says; run npm run migration`)
    Deno.exit(1)
  }
}
