/**
 * Writes the first migration from sql/schema, in load order; `--check` only compares. Once it has shipped, a change of sql/schema comes
 * with a migration of its own, and this file goes.
 */
const schema = new URL('../../sql/schema/', import.meta.url)
const migration = new URL('../migrations/20261121000000_accounts_conversations_messages.sql', import.meta.url)
const files = [...Deno.readDirSync(schema)].map((file) => file.name).sort()
const text = files.map((file) => Deno.readTextFileSync(new URL(file, schema))).join('\n')
if (!Deno.args.includes('--check')) {
  Deno.writeTextFileSync(migration, text)
} else if (Deno.readTextFileSync(migration) !== text) {
  console.error('supabase/migrations is not what sql/schema says; run npm run migration')
  Deno.exit(1)
}
