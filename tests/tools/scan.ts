/**
 * Searches every column of every table, including those of Auth, for words. Prints [{table, column, word}].
 *   deno run -A tests/tools/scan.ts WORD…        (DATA_DIR of a stopped stack, or DATABASE_URL)
 */
import { openPglite, openPostgres } from '../../supabase/local/database.ts'

const url = Deno.env.get('DATABASE_URL')
const database = url ? await openPostgres(url) : await openPglite(Deno.env.get('DATA_DIR')!)
const columns = await database.query(
  `select
    format('%I.%I', nspname, relname) as table,
    attname as column,
    case atttypid
      when 'bytea'::regtype then format('encode(%I, ''escape'')', attname)
      else format('%I::text', attname)
    end as text
  from pg_catalog.pg_attribute
  join pg_catalog.pg_class on pg_class.oid = attrelid
  join pg_catalog.pg_namespace on pg_namespace.oid = relnamespace
  where relkind in ('r', 'p', 'm')
    and attnum > 0
    and not attisdropped
    and nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
  [],
)
const found = []
for (const { table, column, text } of columns) {
  const rows = await database.query(
    // No table has a column of this name, which would take precedence.
    `select searched_word as word from jsonb_array_elements_text(($1::text)::jsonb) as searched_word
    where exists (select from ${table} where ${text} ilike '%' || searched_word || '%')`,
    [JSON.stringify(Deno.args)],
  )
  for (const { word } of rows) found.push({ table, column, word })
}
console.log(JSON.stringify(found))
await database.close()
Deno.exit(0)
