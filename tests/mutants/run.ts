/**
 * Breaks the database in one place after another, each in a transaction that is rolled back, and says which mutants no
 * rule and no pgTAP file notices, as a Report in JSON. On the Postgres of DATABASE_URL.
 *   npm run mutants -- [--seed=N] [--functions=40] [--grants=40] [--base=REF] [--seconds=60] [--rest=60] [--each=10]
 *     [--only=PATTERN]
 * All mutants of the functions whose text differs from that of REF are tried; so many of all other functions; every one
 * of policies and row level security; and one in so many grants. Those of changed functions end after so many seconds,
 * each of the other kinds after `rest`, and a mutant that nothing has noticed after `each` is left undecided; one that
 * takes 2 GB fails (tests/postgres/server.sh). With PATTERN only functions of such names are tried. accepted.txt has
 * those that may survive: mutant, ` # `, reason.
 */
import { parseArgs } from 'node:util'
import { connection, loadRules, runTests } from '../rules/fixture.ts'
import { files as pgtapFiles, read } from '../db/database.ts'
import { changedSince } from './changed.ts'
import { type Mutant, mutantsOf, sample } from './functions.ts'

export interface Report {
  /** What fails without a mutant; the mutants are not tried then. */
  broken: string[]
  /** How many were tried, by kind, how many of them in vain for want of time, and how many no database takes. */
  tried: Record<string, number>
  undecided: number
  invalid: number
  survivors: string[]
  /** How many survived that accepted.txt has, and its lines that are noticed or no mutants any more. */
  accepted: number
  stale: string[]
  /** Functions that no rule and no pgTAP file calls, so that none of their mutants is tried. */
  uncalled: string[]
  seconds: number
}

const options = {
  seed: { type: 'string', default: '1' },
  functions: { type: 'string', default: '40' },
  grants: { type: 'string', default: '40' },
  base: { type: 'string', default: '' },
  seconds: { type: 'string', default: '60' },
  rest: { type: 'string', default: '60' },
  each: { type: 'string', default: '10' },
  only: { type: 'string', default: '' },
} as const
const { values: { base, only, ...numbers } } = parseArgs({ args: Deno.args, options })
const { seed, functions, grants, seconds, rest, each } = Object.fromEntries(
  Object.entries(numbers).map(([name, value]) => [name, Number(value)]),
) as Record<keyof typeof numbers, number>

const print = console.log
const say = (line: string) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`))
for (const level of ['log', 'info', 'warn', 'error'] as const) console[level] = () => {}

await loadRules()
await connection.run(`set track_functions = 'all'`)

const definitions = await connection.query(
  `select format('%s.%s', nspname, proname) as name, pg_get_functiondef(pg_proc.oid) as definition
   from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
   where prokind = 'f' and nspname in ('public', 'private', 'api') order by 1`,
  [],
) as { name: string; definition: string }[]

// Which rules and pgTAP files call a function or read a table, how many of both, and how long it takes. Functions that
// Postgres inlines are not counted.
const callers = new Map<string, string[]>()
const breadths = new Map<string, number>()
const durations = new Map<string, number>()
const count = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)
const addCaller = (name: string, test: string): void => {
  callers.set(name, [...callers.get(name) ?? [], test])
  count(breadths, test)
}
const nameOf = ({ file, name }: { file: string; name: string }) => `${file}: ${name}`
const called = async (): Promise<Map<string, number>> => {
  const rows = await connection.query(
    `select format('%s.%s', schemaname, funcname) as name, calls from pg_stat_xact_user_functions
     union all
     select format('%s.%s', schemaname, relname), seq_scan + coalesce(idx_scan, 0) from pg_stat_xact_user_tables
     where seq_scan + coalesce(idx_scan, 0) > 0`,
    [],
  )
  return new Map(rows.map(({ name, calls }) => [String(name), Number(calls)]))
}
let started = performance.now()
const results = await runTests({
  inspect: async (test) => {
    durations.set(nameOf(test), performance.now() - started)
    for (const name of (await called()).keys()) addCaller(name, nameOf(test))
    await connection.query('select pg_stat_force_next_flush()', [])
    started = performance.now()
  },
})
await connection.run(read('first_failure.sql'))
// A file that ends its own transaction would end the mutant's as well.
const usable = pgtapFiles.filter((file) => !/^(commit|rollback)/m.test(read(file)))
// These take two thirds of the time of all, so they are tried last, and only for functions that they name.
const isLong = (file: string) => /\/(large_index|lines)\./.test(file)
const [pgtap, long] = [usable.filter((file) => !isLong(file)), usable.filter(isLong)]
const pgtapFailure = async (file: string): Promise<string | null> => {
  await connection.run('savepoint file')
  const run = () => connection.run(`set local search_path = tap, public; ${read(file)}; select * from finish();`)
  return await run().then(() => null, (error) => `${file}: ${error.message}`).finally(() =>
    connection.run('rollback to file')
  )
}

// What is quick, calls little else and has noticed many mutants of those that it met comes first.
const [met, noticed] = [new Map<string, number>(), new Map<string, number>()]
const worth = (name: string) =>
  ((noticed.get(name) ?? 0) + 1) / ((met.get(name) ?? 0) + 2) / (durations.get(name) ?? 1) / (breadths.get(name) ?? 1)
class Undecided extends Error {}
const undecided = 'nothing, for want of time'
/** When the present mutant has had its time. */
let end = Infinity
const firstToFail = async (names: string[]): Promise<string | null> => {
  for (const name of names.toSorted((one, other) => worth(other) - worth(one))) {
    if (performance.now() > end) throw new Undecided()
    // A mutant that never ends fails; one that a busy machine slows down does not.
    const milliseconds = Math.ceil(5000 + 5 * (durations.get(name) ?? 0))
    await connection.run(`set local statement_timeout = ${milliseconds}`)
    count(met, name)
    if (!(usable.includes(name) ? await pgtapFailure(name) : await ruleFailure(name, 2 * milliseconds))) continue
    count(noticed, name)
    return name
  }
  return null
}
const ruleFailure = async (name: string, milliseconds: number): Promise<string | null> => {
  const [result] = await runTests({ isWanted: (test) => nameOf(test) === name, isInside: true, milliseconds })
  return result!.error
}
/** The tests that call a function, or one that it may be inlined into. */
const testsOf = (name: string, seen = new Set<string>()): string[] => {
  seen.add(name)
  const isSql = definitions.some((one) => one.name === name && one.definition.includes(' LANGUAGE sql'))
  const outer = definitions.filter((one) => isSql && !seen.has(one.name) && one.definition.includes(`${name}(`))
  return [...new Set([...callers.get(name) ?? [], ...outer.flatMap((one) => testsOf(one.name, seen))])]
}
const detect = async ({ subject }: Mutant): Promise<string | null> => {
  const tests = testsOf(subject)
  if (definitions.some(({ name }) => name === subject)) return await firstToFail(tests)
  const files = pgtap.filter((file) => file.startsWith('access/') || tests.includes(file))
  return await firstToFail(files) ?? await firstToFail(tests.filter((test) => !files.includes(test)))
}

const accepted = new Set(read('../mutants/accepted.txt').trim().split('\n').map((line) => line.replace(/ # .*/, '')))
const counts = { undecided: 0, invalid: 0, accepted: 0, seconds: 0 }
const report: Report = { broken: [], tried: {}, survivors: [], stale: [], uncalled: [], ...counts }
const tryAll = async (kind: string, mutants: Mutant[]): Promise<void> => {
  const until = performance.now() + (kind === 'changed' ? seconds : rest) * 1000
  for (const mutant of mutants) {
    if (performance.now() > until) break
    await connection.run('begin')
    const isValid = await connection.run(mutant.statement).then(() => true, () => false)
    if (!isValid) report.invalid++
    else {
      end = performance.now() + each * 1000
      const detector = await detect(mutant).catch(async (error) => {
        if (error instanceof Undecided) return undecided
        // A mutant may not end, and the time limit of an anonymous caller closes the connection.
        if (!/connection|queryable/i.test(String(error))) throw error
        await connection.open?.()
        return 'the connection'
      })
      report.tried[kind] = (report.tried[kind] ?? 0) + 1
      if (detector === undecided) report.undecided++
      else if (detector && accepted.has(mutant.what)) report.stale.push(mutant.what)
      else if (!detector && accepted.has(mutant.what)) report.accepted++
      else if (!detector) {
        report.survivors.push(mutant.what)
        say(`survives: ${mutant.what}`)
      }
    }
    await connection.run('rollback')
  }
}

const ofCatalogue = async (file: string): Promise<Mutant[]> =>
  await connection.query(read(`../mutants/${file}.sql`), []) as unknown as Mutant[]

started = performance.now()
await connection.run('begin')
report.broken = results.filter(({ error }) => error).map(({ file, name, error }) => `${file}: ${name}: ${error}`)
for (const file of pgtap) {
  const [before, start] = [await called(), performance.now()]
  report.broken.push(...[await pgtapFailure(file) ?? []].flat())
  durations.set(file, performance.now() - start)
  for (const [name, calls] of await called()) if (calls > (before.get(name) ?? 0)) addCaller(name, file)
}
for (const file of long) {
  durations.set(file, 60_000)
  for (const { name } of definitions) if (read(file).includes(name)) addCaller(name, file)
}
await connection.run('rollback')
if (report.broken.length === 0) {
  const changed = base ? changedSince(base) : new Set<string>()
  report.uncalled = definitions.map(({ name }) => name).filter((name) => testsOf(name).length === 0)
  const mutants = definitions.filter(({ name }) => RegExp(only).test(name) && !report.uncalled.includes(name))
    .flatMap(({ name, definition }) => mutantsOf(name, definition))
  const [own, others] = [true, false].map((isChanged) =>
    mutants.filter(({ subject }) => changed.has(subject) === isChanged)
  )
  say(`${definitions.length} functions, ${changed.size} changed, ${mutants.length} mutants, ${results.length} rules`)
  await tryAll('changed', sample(own!, own!.length, seed))
  await tryAll('function', sample(others!, functions, seed))
  if (!only) {
    const [policies, rights] = [await ofCatalogue('policies'), await ofCatalogue('grants')]
    await tryAll('policy', sample(policies, policies.length, seed))
    await tryAll('grant', sample(rights, rights.length / grants, seed))
    const known = new Set([...mutants, ...policies, ...rights].map(({ what }) => what))
    report.stale.push(...[...accepted].filter((what) => !known.has(what)))
  }
}
report.seconds = Math.round((performance.now() - started) / 1000)
print(JSON.stringify(report))
Deno.exit(0)
