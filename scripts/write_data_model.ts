/**
 * Writes docs/data-model.md: the tables that sql/schema creates, as a Mermaid diagram of their foreign keys and a table
 * of their comments, read from the catalogue of a new database. `--check` only compares.
 */
import { readdirSync } from 'node:fs'
import { type Database, openPglite } from '../supabase/local/database.ts'
import { openPlatform } from '../supabase/local/platform.ts'
import { readSettings } from '../supabase/local/settings.ts'

/** `references` is the table that the column points to. */
interface Column {
  name: string
  nullable: boolean
  unique: boolean
  references: string | null
}
interface Table {
  name: string
  comment: string
  columns: Column[]
}

const catalogue = `
  select
    n.nspname || '.' || t.relname as name,
    obj_description(t.oid) as comment,
    json_agg(json_build_object(
      'name', c.attname,
      'nullable', not c.attnotnull,
      'unique', k.is_unique,
      'references', f.target
    ) order by c.attnum) as columns
  from pg_class t
  join pg_namespace n on n.oid = t.relnamespace
  join pg_attribute c on c.attrelid = t.oid and c.attnum > 0 and not c.attisdropped
  cross join lateral (
    select coalesce(bool_or(i.indisunique and i.indnkeyatts = 1 and i.indpred is null), false) as is_unique
    from pg_index i
    where i.indrelid = t.oid and c.attnum = any (i.indkey)
  ) k
  left join lateral (
    select max(fn.nspname || '.' || ft.relname) as target
    from pg_constraint r
    join pg_class ft on ft.oid = r.confrelid
    join pg_namespace fn on fn.oid = ft.relnamespace
    where r.contype = 'f' and r.conrelid = t.oid and c.attnum = any (r.conkey)
  ) f on true
  where n.nspname || '.' || t.relname = any ($1)
  group by 1, t.oid`

/** The folder of sql/schema that creates each table, in the order of creation. */
const readFolders = (): Map<string, string> => {
  const schema = new URL('../sql/schema/', import.meta.url)
  return new Map(
    readdirSync(schema, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.sql')).sort()
      .flatMap((file) => {
        const tables = Deno.readTextFileSync(new URL(file, schema)).matchAll(/^create (?:unlogged )?table (\w+\.\w+)/gm)
        return [...tables].map(([, table]) => [table!, file.split('/')[0]!] as const)
      }),
  )
}

const openDatabase = async (): Promise<Database> => {
  const log = console.log
  console.log = () => {}
  const database = await openPglite(null)
  const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
  await openPlatform(database, keys, readSettings({ DATA_DIR: 'memory', SEED: 'none' }))
  console.log = log
  return database
}

const entity = (name: string): string => name.replace('public.', '').replace('.', '_')

const relations = (tables: Table[]): string[] =>
  tables.flatMap(({ name, columns }) =>
    columns.flatMap((column) => {
      if (!column.references) return []
      const [one, many] = [column.nullable ? '|o' : '||', column.unique ? 'o|' : 'o{']
      return `  ${entity(column.references)} ${one}--${many} ${entity(name)} : ${column.name}`
    })
  )

/** The first sentence of a table's comment, up to its colon. */
const row = ({ name, comment }: Table): string => {
  const [sentence] = comment.replaceAll(/\s+/g, ' ').split(/(?<=[.;]) |: /)
  return `| \`${name}\` | ${sentence!.replace(/[.;]$/, '')} |`
}

const folderOf = readFolders()
const database = await openDatabase()
const tables = await database.query(catalogue, [[...folderOf.keys()]]) as unknown as Table[]
const order = [...folderOf.keys()]
tables.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name))
await database.close()

const rows = [...new Set(folderOf.values())].flatMap((folder) => [
  `| **${folder}** | |`,
  ...tables.filter(({ name }) => folderOf.get(name) === folder).map(row),
])
const text = [
  // The formatter would pad each row to the longest, which doubles the page. It reads this on the first line alone.
  '<!-- deno-fmt-ignore-file -->',
  '# Data model',
  '',
  '<!-- Generated from sql/schema by `npm run data-model`. -->',
  '',
  'For whoever writes SQL: every table and what it points to. Tables of `public` are under row level security, and',
  'the Data API shows them; those of `private`, drawn with their schema in front, are reached by SQL functions',
  'alone. A line is a foreign key, with its column. The columns are in `sql/schema`.',
  '',
  '```mermaid',
  'erDiagram',
  ...relations(tables),
  '```',
  '',
  '| table | holds |',
  '| --- | --- |',
  ...rows,
  '',
].join('\n')

const file = new URL('../docs/data-model.md', import.meta.url)
if (!Deno.args.includes('--check')) {
  Deno.writeTextFileSync(file, text)
} else if (Deno.readTextFileSync(file) !== text) {
  console.error('docs/data-model.md is not up to date; run npm run data-model')
  Deno.exit(1)
}
Deno.exit(0)
