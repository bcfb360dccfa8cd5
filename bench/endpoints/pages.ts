/**
 * What each verb costs one caller at a time: pages of 8 kB, milliseconds, and how these compare to a copy without policies; all as medians.
 * And how large tables are.
 */
import postgres from 'postgres'
import type { Case } from './cases/case.ts'
import { statementOf } from './cases.ts'
import { median, row } from './table.ts'
import type { World } from './world.ts'

const times = 320
const warming = 20

/** A request of the case as pgbench would draw it, whose expressions are Postgres' as well. */
const requestOf = async (sql: postgres.Sql, some: Case, turn: number): Promise<string> => {
  const known: Record<string, number> = { turn }
  const filled = (text: string): string =>
    text.replaceAll(/(?<!:):([a-z]+)\b/g, (whole, name) => name in known ? `${known[name]}::bigint` : whole)
  for (const [, name, expression] of (some.draw ?? '').matchAll(/\\set (\w+) (.+)/g)) {
    const [found] = await sql.unsafe(`select (${filled(expression!)})::integer as value`)
    known[name!] = found!.value
  }
  return filled(statementOf(some)!)
}

const logIn = (url: string): postgres.Sql => {
  const login = new URL(url)
  login.username = 'edge_functions'
  return postgres(login.href, { max: 1, onnotice: () => {} })
}

/** Pages and milliseconds of one request. */
const explain = async (sql: postgres.Sql, statement: string): Promise<{ read: number; took: number }> => {
  const [found] = await sql.unsafe(`explain (analyze, timing off, buffers, format json) ${statement}`)
  const [{ Plan: plan, 'Execution Time': took }] = found!['QUERY PLAN']
  return { read: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], took }
}

/** Both are asked the same, one after the other, and the first now the one and now the other: what else the machine does meets both. */
export const pages = async (world: World, cases: Case[], open: { url: string; sql: postgres.Sql }): Promise<void> => {
  const [here, there] = [logIn(world.url), logIn(open.url)]
  console.log(row('', ['pages', 'most', 'ms', 'of RLS off', 'kB sent']))
  for (const some of cases.filter(statementOf)) {
    if (some.before) { for (const { sql } of [world, open]) await sql.unsafe(some.before) }
    const seen: { read: number; took: number; open: number }[] = []
    let sent = 0
    for (let time = 0; time < times; time++) {
      const statement = await requestOf(here, some, time)
      // What a request reads is in memory nearly always: of two answers the second counts, where asking twice is asking the same.
      if (some.method === 'GET') { for (const sql of [here, there]) await explain(sql, statement) }
      const ask = { here: () => explain(here, statement), there: () => explain(there, statement) }
      const first = time % 2 ? await ask.there() : undefined
      const { read, took } = await ask.here()
      const { took: open } = first ?? await ask.there()
      // The first few find their plans.
      if (time >= warming) seen.push({ read, took, open })
      if (time === 0 && !some.once) sent = String((await here.unsafe(statement))[0]!.body).length / 1000
    }
    const read = seen.map((one) => one.read)
    console.log(row(some.name, [
      median(read).toFixed(0),
      Math.max(...read).toFixed(0),
      median(seen.map(({ took }) => took)).toFixed(3),
      median(seen.map(({ took, open }) => open / took)).toFixed(2),
      sent.toFixed(1),
    ]))
  }
  await here.end()
  await there.end()

  console.log('\n' + row('', ['rows', 'bytes a row', 'its indexes']))
  for (
    const table of [
      'public.messages',
      'private.idempotent_replies',
      'public.conversations',
      'public.users',
      'public.profiles',
    ]
  ) {
    const [size] = await world.sql`
      select (select reltuples from pg_class where oid = ${table}::regclass) as rows,
        pg_table_size(${table}::regclass) as own, pg_indexes_size(${table}::regclass) as indexes`
    const each = (bytes: number): string => (bytes / size!.rows).toFixed(0)
    console.log(row(table, [size!.rows.toFixed(0), each(size!.own), each(size!.indexes)]))
  }
}
