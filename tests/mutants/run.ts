/**
 * Breaks the database in one place after another, each in a transaction that is rolled back, and says which mutants no
 * rule and no pgTAP file notices. On the Postgres of DATABASE_URL.
 *   npm run mutants -- [--seed=N] [--functions=40] [--base=REF] [--seconds=60] [--rest=60] [--each=10] [--only=PATTERN]
 * All mutants of the functions whose text differs from that of REF are tried; so many of all other functions; and every
 * one of policies and row level security. Those of changed functions end after so many seconds, each of the other kinds
 * after `rest`, and a mutant that nothing has noticed after `each` is left undecided. With PATTERN only functions of
 * such names are tried.
 * Prints a Report as JSON.
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
  seconds: number
}

const options = {
  seed: { type: 'string', default: '1' },
  functions: { type: 'string', default: '40' },
  base: { type: 'string', default: '' },
  seconds: { type: 'string', default: '60' },
  rest: { type: 'string', default: '60' },
  each: { type: 'string', default: '10' },
  only: { type: 'string', default: '' },
} as const
const { values: { base, only, ...numbers } } = parseArgs({ args: Deno.args, options })
const { seed, functions, seconds, rest, each } = Object.fromEntries(
  Object.entries(numbers).map(([name, value]) => [name, Number(value)]),
) as Record<keyof typeof numbers, number>

const print = console.log
const say = (line: string) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`))
for (const level of ['log', 'info', 'warn', 'error'] as const) console[level] = () => {}

await loadRules()
await connection.run(`set track_functions = 'all'`)

// Which tests call a function, and how long each takes. Functions that Postgres inlines are not counted.
const callers = new Map<string, string[]>()
const pgtapCallers = new Map<string, string[]>()
const durations = new Map<string, number>()
const nameOf = ({ file, name }: { file: string; name: string }) => `${file}: ${name}`
const called = async (): Promise<Map<string, number>> => {
  const rows = await connection.query(
    `select format('%s.%s', schemaname, funcname) as name, calls from pg_stat_xact_user_functions`,
    [],
  )
  return new Map(rows.map(({ name, calls }) => [String(name), Number(calls)]))
}
const timeLimit = `set statement_timeout = '5s'`
let started = performance.now()
const results = await runTests({
  inspect: async (test) => {
    durations.set(nameOf(test), performance.now() - started)
    for (const name of (await called()).keys()) callers.set(name, [...callers.get(name) ?? [], nameOf(test)])
    await connection.query('select pg_stat_force_next_flush()', [])
    started = performance.now()
  },
})
await connection.run(read('first_failure.sql'))
// A file that ends its own transaction would end the mutant's as well. Those about cost look at plans, and a connection
// that has run other files has others.
const pgtap = pgtapFiles.filter((file) => !/\/cost\./.test(file) && !/^(commit|rollback)/m.test(read(file)))
const pgtapFailure = async (file: string): Promise<string | null> => {
  await connection.run('savepoint file')
  const run = () => connection.run(`set local search_path = tap, public; ${read(file)}; select * from finish();`)
  return await run().then(() => null, (error) => `${file}: ${error.message}`).finally(() =>
    connection.run('rollback to file')
  )
}

/** What noticed most mutants so far comes first, then what is quick. */
const noticed = new Map<string, number>()
const byUse = (one: string, other: string) =>
  (noticed.get(other) ?? 0) - (noticed.get(one) ?? 0) || (durations.get(one) ?? 0) - (durations.get(other) ?? 0)
class Undecided extends Error {}
const undecided = 'nothing, for want of time'
/** When the present mutant has had its time. */
let end = Infinity
const firstToFail = async (names: string[], fails: (name: string) => Promise<boolean>): Promise<string | null> => {
  for (const name of names.toSorted(byUse)) {
    if (performance.now() > end) throw new Undecided()
    if (!await fails(name)) continue
    noticed.set(name, (noticed.get(name) ?? 0) + 1)
    return name
  }
  return null
}
const ruleFails = async (name: string): Promise<boolean> => {
  const milliseconds = Math.max(10_000, 5 * (durations.get(name) ?? 0))
  const [result] = await runTests({ isWanted: (test) => nameOf(test) === name, isInside: true, milliseconds })
  return result!.error !== null
}
const allRules = results.map(nameOf)
const isPolicy = ({ subject }: Mutant) => !subject.includes('.')
const detect = async (mutant: Mutant): Promise<string | null> => {
  const inPgtap = () => firstToFail(pgtap, async (file) => await pgtapFailure(file) !== null)
  if (isPolicy(mutant)) return await inPgtap() ?? await firstToFail(allRules, ruleFails)
  const [rules, files] = [callers.get(mutant.subject), pgtapCallers.get(mutant.subject)]
  if (rules || files) {
    return await firstToFail(rules ?? [], ruleFails) ??
      await firstToFail(files ?? [], async (file) => await pgtapFailure(file) !== null)
  }
  return await firstToFail(allRules, ruleFails) ?? await inPgtap()
}

const report: Report = { broken: [], tried: {}, undecided: 0, invalid: 0, survivors: [], seconds: 0 }
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
        await connection.run(timeLimit)
        return 'the connection'
      })
      report.tried[kind] = (report.tried[kind] ?? 0) + 1
      if (detector === undecided) report.undecided++
      else if (!detector) {
        report.survivors.push(mutant.what)
        say(`survives: ${mutant.what}`)
      }
    }
    await connection.run('rollback')
  }
}

const definitions = await connection.query(
  `select format('%s.%s', nspname, proname) as name, pg_get_functiondef(pg_proc.oid) as definition
   from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
   where prokind = 'f' and nspname in ('public', 'private', 'api') and format('%s.%s', nspname, proname) ~ $1
     and not exists (
       select from pg_depend where classid = 'pg_proc'::regclass and objid = pg_proc.oid and deptype = 'e'
     )
   order by 1`,
  [only],
) as { name: string; definition: string }[]

started = performance.now()
await connection.run('begin')
report.broken = results.filter(({ error }) => error).map(({ file, name, error }) => `${file}: ${name}: ${error}`)
for (const file of pgtap) {
  const [before, start] = [await called(), performance.now()]
  report.broken.push(...[await pgtapFailure(file) ?? []].flat())
  durations.set(file, performance.now() - start)
  for (const [name, calls] of await called()) {
    if (calls > (before.get(name) ?? 0)) pgtapCallers.set(name, [...pgtapCallers.get(name) ?? [], file])
  }
}
await connection.run('rollback')
await connection.run(timeLimit)
if (report.broken.length === 0) {
  const changed = base ? changedSince(base) : new Set<string>()
  const mutants = definitions.flatMap(({ name, definition }) => mutantsOf(name, definition))
  const [own, others] = [true, false].map((isChanged) =>
    mutants.filter(({ subject }) => changed.has(subject) === isChanged)
  )
  say(`${definitions.length} functions, ${changed.size} changed, ${mutants.length} mutants, ${allRules.length} rules`)
  await tryAll('changed', sample(own!, own!.length, seed))
  await tryAll('function', sample(others!, functions, seed))
  if (!only) {
    const rows = await connection.query(read('../mutants/policies.sql'), [])
    const policies = (rows as Record<'kind' | 'what' | 'statement', string>[])
      .map(({ kind, what, statement }) => ({ subject: kind, what: `${kind}: ${what}`, statement }))
    await tryAll('policy', sample(policies, policies.length, seed))
  }
}
report.seconds = Math.round((performance.now() - started) / 1000)
print(JSON.stringify(report))
Deno.exit(0)
