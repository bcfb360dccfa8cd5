/**
 * The cost of each API function for one caller at a time: pages of 8 kB, milliseconds, and the ratio to a copy without
 * policies, as medians. Then the sizes of tables.
 */
import postgres from 'postgres'
import { type Case, statementOf } from './cases/case.ts'
import { asEdgeFunctions, type Fixture } from './fixture.ts'
import { median, row } from './table.ts'

const runs = 320
const warmUpRuns = 20

/** The statement of a case with pgbench's variables filled in. Postgres evaluates their expressions as pgbench does. */
const fillVariables = async (sql: postgres.Sql, testCase: Case, index: number): Promise<string> => {
  const values: Record<string, number> = { index }
  const fill = (text: string): string =>
    text.replaceAll(/(?<!:):([a-z]+)\b/g, (whole, name) => name in values ? `${values[name]}::bigint` : whole)
  for (const [, name, expression] of testCase.variables.matchAll(/\\set (\w+) (.+)/g)) {
    const [found] = await sql.unsafe(`select (${fill(expression!)})::integer as value`)
    values[name!] = found!.value
  }
  return fill(statementOf(testCase))
}

/** The pages and milliseconds of one statement. */
const explain = async (sql: postgres.Sql, statement: string): Promise<{ read: number; took: number }> => {
  const [found] = await sql.unsafe(`explain (analyze, timing off, buffers, format json) ${statement}`)
  const [{ Plan: plan, 'Execution Time': took }] = found!['QUERY PLAN']
  return { read: plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], took }
}

/** Runs each statement on both databases in alternating order, so that other work on the machine affects both alike. */
export const pages = async (fixture: Fixture, cases: Case[], copy: string): Promise<void> => {
  const [withRls, withoutRls] = [fixture.url, copy].map((url) =>
    postgres(asEdgeFunctions(url), { max: 1, onnotice: () => {} })
  ) as [postgres.Sql, postgres.Sql]
  console.log(row('', ['pages', 'most', 'ms', 'of RLS off', 'kB sent']))
  for (const testCase of cases) {
    const results: { read: number; took: number; tookWithoutRls: number }[] = []
    let sent = 0
    for (let index = 0; index < runs; index++) {
      const statement = await fillVariables(withRls, testCase, index)
      // Measure the second run of a read, because a request finds its pages in memory nearly always.
      if (testCase.method === 'GET') { for (const sql of [withRls, withoutRls]) await explain(sql, statement) }
      const first = index % 2 ? await explain(withoutRls, statement) : undefined
      const { read, took } = await explain(withRls, statement)
      const { took: tookWithoutRls } = first ?? await explain(withoutRls, statement)
      // The first runs plan the statement.
      if (index >= warmUpRuns) results.push({ read, took, tookWithoutRls })
      if (index === 0 && !testCase.once) sent = String((await withRls.unsafe(statement))[0]!.body).length / 1000
    }
    const read = results.map((result) => result.read)
    console.log(row(testCase.name, [
      median(read).toFixed(0),
      Math.max(...read).toFixed(0),
      median(results.map(({ took }) => took)).toFixed(3),
      median(results.map(({ took, tookWithoutRls }) => tookWithoutRls / took)).toFixed(2),
      sent.toFixed(1),
    ]))
  }
  await withRls.end()
  await withoutRls.end()

  console.log('\n' + row('', ['rows', 'bytes a row', 'its indexes']))
  const tables = [
    'public.messages',
    'public.conversations',
    'public.users',
    'public.profiles',
  ]
  for (const table of tables) {
    const [size] = await fixture.sql`
      select (select reltuples from pg_class where oid = ${table}::regclass) as rows,
        pg_table_size(${table}::regclass) as own, pg_indexes_size(${table}::regclass) as indexes`
    const perRow = (bytes: number): string => (bytes / size!.rows).toFixed(0)
    console.log(row(table, [size!.rows.toFixed(0), perRow(size!.own), perRow(size!.indexes)]))
  }
}
