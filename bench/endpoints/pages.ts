/** What each verb costs one caller at a time: pages of 8 kB, and milliseconds, both as medians. And how large tables are. */
import postgres from 'postgres'
import { type Case, casesOf, statementOf } from './cases.ts'
import { median, row } from './table.ts'
import type { World } from './world.ts'

const times = 40

/** A request of the case as pgbench would draw it, whose expressions are Postgres' as well. */
const drawn = async (sql: postgres.Sql, some: Case, turn: number): Promise<string> => {
  const known: Record<string, number> = { turn }
  const filled = (text: string): string =>
    text.replaceAll(/(?<!:):([a-z]+)\b/g, (whole, name) => name in known ? `${known[name]}::bigint` : whole)
  for (const [, name, expression] of (some.draw ?? '').matchAll(/\\set (\w+) (.+)/g)) {
    const [row] = await sql.unsafe(`select (${filled(expression!)})::integer as value`)
    known[name!] = row!.value
  }
  return filled(statementOf(some)!)
}

export const pages = async (world: World): Promise<void> => {
  const url = new URL(world.url)
  url.username = 'edge_functions'
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  console.log(row('', ['pages', 'most', 'ms', 'kB sent']))
  for (const some of (await casesOf(world)).filter(statementOf)) {
    if (some.before) await world.sql.unsafe(some.before)
    const seen: { read: number; took: number }[] = []
    let sent = 0
    for (let time = 0; time < times; time++) {
      const statement = await drawn(sql, some, time)
      const [row] = await sql.unsafe(`explain (analyze, buffers, format json) ${statement}`)
      const [{ Plan: plan, 'Execution Time': took }] = row!['QUERY PLAN']
      // The first few find their plans.
      if (time > 9) seen.push({ read: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], took })
      if (time === 0 && !some.once) sent = String((await sql.unsafe(statement))[0]!.body).length / 1000
    }
    const read = seen.map((one) => one.read)
    console.log(row(some.name, [
      median(read).toFixed(0),
      Math.max(...read).toFixed(0),
      median(seen.map(({ took }) => took)).toFixed(2),
      sent.toFixed(1),
    ]))
  }
  await sql.end()

  console.log('\n' + row('', ['rows', 'bytes a row', 'its indexes']))
  for (
    const table of ['public.messages', 'private.receipts', 'public.conversations', 'public.users', 'public.profiles']
  ) {
    const [size] = await world.sql`
      select (select reltuples from pg_class where oid = ${table}::regclass) as rows,
        pg_table_size(${table}::regclass) as own, pg_indexes_size(${table}::regclass) as indexes`
    const each = (bytes: number): string => (bytes / size!.rows).toFixed(0)
    console.log(row(table, [size!.rows.toFixed(0), each(size!.own), each(size!.indexes)]))
  }
}
