/**
 * Compares endpoints with pgbench running the same statement, and with the Data API of @supabase/lite on the same data:
 * `npm run bench`. Starts its own Postgres 17 (durable: fsync and synchronous_commit on) with 10,000 users, 20,000
 * conversations of very different length and 1,000,000 messages, and the Edge Functions in one Deno process without the
 * gateway. wrk sends the requests over 16 connections. Rounds alternate between the servers. Ratios are taken within a
 * round and the median is shown, because on a machine with other work only ratios mean anything. "RLS off" runs the
 * same requests on a copy of the data without policies. "Bare" is plain SQL without act_as and the API function as well
 * (bare.ts).
 *   --users=10000 --conversations=20000 --messages=1000000
 *   --rounds=3 --seconds=2 --connections=16
 *   --only=TEXT,TEXT        endpoints whose name contains one of these
 *   --against=FOLDER        instead: compares with the functions of another checkout, whose packages are installed
 *   --against=express       … with Express and Sequelize in one Node process (bench/peer), a pool of the first size;
 *                           refuses to measure where answers differ
 *   --pools=3,6             the sizes of our pool for --against; 3 by default
 *   --pages                 instead: pages and time of each API function with one caller, and the share of policies
 */
import { parseArgs } from 'node:util'
import { hasBareSql } from './bare.ts'
import type { Case } from './cases/case.ts'
import { conversationCases } from './cases/conversations.ts'
import { peopleCases } from './cases/people.ts'
import type { Defer } from './defer.ts'
import { asEdgeFunctions, type Fixture, openFixture } from './fixture.ts'
import { publishableKey, secretKey } from './keys.ts'
import { type Load, type Measurement, runStatement, runWrk, type Server, start, writeRequests } from './measure.ts'
import { pages } from './pages.ts'
import { compareAnswers, peerCases, startPeer } from '../peer/peer.ts'
import { median, row } from './table.ts'

const { values } = parseArgs({
  args: Deno.args,
  options: {
    users: { type: 'string', default: '10000' },
    conversations: { type: 'string', default: '20000' },
    messages: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: '' },
    pools: { type: 'string', default: '3' },
    against: { type: 'string', default: '' },
    pages: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
const defaultLoad: Load = { seconds: Number(values.seconds), connections: Number(values.connections) }

const startedAt = performance.now()
const deferred: (() => Promise<void>)[] = []
let ended: Promise<void> | undefined
const runDeferred = async (): Promise<void> => {
  for (const task of deferred.reverse()) await task().catch(console.error)
}
// Runs once: a signal stops the servers, which makes the run in progress fail and come here, too.
const end = (): Promise<void> => ended ??= runDeferred()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  Deno.addSignalListener(signal, () => void end().finally(() => Deno.exit(1)))
}

const defer: Defer = (task) => {
  deferred.push(task)
}
const serveFunctions = (database: string, pool = '6', script = 'serve_functions.ts') =>
  start(script, [], {
    EDGE_DATABASE_URL: asEdgeFunctions(database),
    DATABASE_POOL: pool,
    // load.lua sends every request from another address, so that no rate limit is reached.
    CLIENT_ADDRESS_HEADER: 'cf-connecting-ip',
    SUPABASE_PUBLISHABLE_KEY: publishableKey,
    SUPABASE_SECRET_KEY: secretKey,
  }, defer)

/** By database: the index of the next request of a case whose requests can be made once. */
type Positions = Map<string, number>

/** Runs a case, whose requests continue where the last run on the same database ended if each can be made once. */
const runCase = async (
  positions: Positions,
  database: string,
  { name, once, requests }: Case,
  run: (load: Load, from?: number) => Promise<Measurement>,
): Promise<Measurement> => {
  if (!once) return await run(defaultLoad)
  const from = positions.get(database) ?? 0
  if (from >= requests.length) {
    throw new Error(`${name} has only ${requests.length} requests; reduce --rounds or --seconds`)
  }
  // They would run out in the full time.
  const measurement = await run({ ...defaultLoad, seconds: Math.max(1, Math.floor(defaultLoad.seconds / 2)) }, from)
  // With a margin, because some of pgbench's clients are ahead of others.
  positions.set(database, from + Math.ceil(1.5 * measurement.requests) + 4 * defaultLoad.connections)
  return measurement
}

/** The measurements of each contender; the first round, not among them, warms up servers and their plans. */
const alternate = async (contenders: (() => Promise<Measurement>)[]): Promise<Measurement[][]> => {
  const all = contenders.map((): Measurement[] => [])
  for (let round = -1; round < rounds; round++) {
    // Alternate the order, because the second finds the processor caches warm.
    for (const index of round % 2 ? contenders.keys() : [...contenders.keys()].toReversed()) {
      const measurement = await contenders[index]!()
      if (round >= 0) all[index]!.push(measurement)
    }
  }
  return all
}

const elapsed = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
const medianOf = (all: Measurement[], what: keyof Measurement): number => median(all.map((one) => one[what]))
const failures = (all: Measurement[]): number => all.reduce((sum, { failed }) => sum + failed, 0)
const integer = (value: number): string => value.toFixed(0)
const decimal = (value: number): string => value.toFixed(1)

/** Median ratios over the rounds: of requests per second, and of requests per processor time. */
const ratios = (some: Measurement[], others: Measurement[] | undefined, digits = 2): string => {
  if (!others) return ''
  const cost = ({ database, server }: Measurement) => database + server
  const byRate = some.map(({ rate }, round) => rate / others[round]!.rate)
  const byCost = some.map((one, round) => cost(others[round]!) / cost(one))
  return `${median(byRate).toFixed(digits)} ${median(byCost).toFixed(digits)}`
}

/** Compares requests per second with another checkout's functions, or with the peer, round by round. */
const compareWithCheckout = async (fixture: Fixture, cases: Case[], checkout: string, sizes: string[]) => {
  const isPeer = checkout === 'express'
  const theirs = isPeer
    ? await startPeer(fixture, sizes[0]!, defer)
    : await serveFunctions(fixture.url, '3', `file://${checkout}/bench/endpoints/serve_functions.ts`)
  const servers = [theirs, ...await Promise.all(sizes.map((size) => serveFunctions(fixture.url, size)))]
  const withSizes = sizes.map((size) => `with ${size}`)
  const p99s = sizes.map(() => 'p99 ms')
  console.log(row('', ['theirs /s', 'p99 ms', ...withSizes, ...p99s, 'µs Postgres', '… theirs']))
  const compared = isPeer ? peerCases(cases) : cases
  if (isPeer) { for (const testCase of compared) await compareAnswers(fixture, testCase, servers) }
  for (const testCase of compared) {
    const positions: Positions = new Map()
    const file = await writeRequests(fixture, testCase)
    const all = await alternate(
      servers.map((server) => () =>
        runCase(positions, fixture.url, testCase, (load, from) => runWrk(fixture, server, file, load, from))
      ),
    )
    const [before, ...after] = all
    console.log(row(testCase.name, [
      integer(medianOf(before!, 'rate')),
      decimal(medianOf(before!, 'p99')),
      ...after.map((one) => ratios(one, before!)),
      ...after.map((one) => decimal(medianOf(one, 'p99'))),
      integer(medianOf(after[0]!, 'database')),
      integer(medianOf(before!, 'database')),
    ]))
    if (failures(all.flat())) console.log(`${all.map(failures).join(', ')} failed`)
    await Deno.remove(file)
  }
}

const compareEndpoints = async (fixture: Fixture, cases: Case[], copy: string): Promise<void> => {
  const lite = await start('serve_lite.ts', [], { DATABASE_URL: fixture.url }, defer)
  const functions = await serveFunctions(fixture.url)
  const functionsWithoutRls = await serveFunctions(copy)
  const functionsWithBareSql = await start('serve_functions.ts', ['--bare'], { EDGE_DATABASE_URL: fixture.url }, defer)
  console.log(
    '\nEach ratio twice: by requests per second, and by requests per processor time, which other work disturbs less.',
  )
  console.log(row('', [
    ...['/s', 'p50 ms', 'p99 ms', 'µs Postgres', 'µs function', 'failed'],
    ...['of pgbench', 'of RLS off', 'of bare', 'x lite'],
  ]))
  for (const testCase of cases) {
    const { name, rpc, litePath } = testCase
    const positions: Positions = new Map()
    const file = await writeRequests(fixture, testCase)
    const liteFile = litePath && await writeRequests(fixture, testCase, litePath)
    const http = (server: Server, database: string, requests = file) => () =>
      runCase(positions, database, testCase, (load, from) => runWrk(fixture, server, requests, load, from))
    const contenders = {
      ours: http(functions, fixture.url),
      pgbench: () =>
        runCase(positions, fixture.url, testCase, (load, from) => runStatement(fixture, testCase, load, from)),
      withoutRls: http(functionsWithoutRls, copy),
      ...hasBareSql(rpc) && { bare: http(functionsWithBareSql, fixture.url) },
      ...liteFile && { lite: http(lite, fixture.url, liteFile) },
    }
    const all = await alternate(Object.values(contenders))
    const of = (contender: string) => all[Object.keys(contenders).indexOf(contender)]
    const ours = of('ours')!
    console.log(row(name, [
      integer(medianOf(ours, 'rate')),
      decimal(medianOf(ours, 'p50')),
      decimal(medianOf(ours, 'p99')),
      integer(medianOf(ours, 'database')),
      integer(medianOf(ours, 'server')),
      integer(failures(all.flat())),
      ...['pgbench', 'withoutRls', 'bare'].map((other) => ratios(ours, of(other))),
      ratios(ours, of('lite'), 1),
    ]))
    for (const path of [file, liteFile]) if (path) await Deno.remove(path)
  }
}

try {
  const { users, conversations, messages, only, against, pools } = values
  const size = { users: Number(users), conversations: Number(conversations), messages: Number(messages) }
  const fixture = await openFixture(size, defer)
  const copy = against ? '' : await fixture.withoutPolicies()
  console.log(`${users} users, ${conversations} conversations, ${messages} messages, ready after ${elapsed()}`)
  const cases = [...conversationCases(fixture), ...peopleCases(fixture)]
    .filter(({ name }) => only.split(',').some((part) => name.includes(part)))
  if (values.pages) await pages(fixture, cases, copy)
  else if (against) await compareWithCheckout(fixture, cases, against, pools.split(','))
  else await compareEndpoints(fixture, cases, copy)
  console.log(`\ndone after ${elapsed()}`)
} finally {
  await end()
}
