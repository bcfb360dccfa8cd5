/** Writes the first migration from sql/schema, in load order. A migration that has shipped is never derived again. */
const schema = new URL('../../sql/schema/', import.meta.url)
const files = [...Deno.readDirSync(schema)].map((file) => file.name).sort()
const parts = files.map((file) => Deno.readTextFileSync(new URL(file, schema)))
Deno.writeTextFileSync(
  new URL('../migrations/20261121000000_accounts_conversations_messages.sql', import.meta.url),
  parts.join('\n'),
)
