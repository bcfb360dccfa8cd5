/**
 * Compares every endpoint with pgbench running the same statement, and with the Data API and the Auth of @supabase/lite
 * on the same data: `npm run bench`. Starts its own Postgres 17 (durable: fsync and synchronous_commit on) with 10,000
 * users, 20,000 conversations of very different length and 1,000,000 messages, and the Edge Functions in one Deno
 * process without the gateway. wrk sends the requests over 16 connections. Rounds alternate between the servers. Ratios
 * are taken within a round and the median is shown, because on a machine with other work only ratios mean anything.
 * "RLS off" runs the same requests and statements on a copy of the data without policies. "Bare" is plain SQL without
 * act_as and the API function as well (bare.ts).
 *   --users=10000 --conversations=20000 --messages=1000000
 *   --rounds=3 --seconds=2 --connections=16
 *   --only=TEXT,TEXT        endpoints whose name contains one of these
 *   --pools=2,3,4,6,10,20   first compares these pool sizes
 *   --against=FOLDER        instead: compares with the functions of another checkout, whose packages are installed;
 *                           pool sizes from --pools, or 3
 *   --against=express       … with Express and Sequelize in one Node process (bench/peer), a pool of the first size;
 *                           refuses to measure where answers differ
 *   --half                  instead: latencies at half load
 *   --pooler                instead: the ways to the database: direct and through PgBouncer, near and at a distance
 *   --pages                 instead: pages and time of each API function with one caller, and the share of policies
 */
import { parseArgs } from 'node:util'
import type postgres from 'postgres'
import type { Case } from './cases/case.ts'
import { casesOf, statementOf } from './cases.ts'
import type { Defer } from './defer.ts'
import { type Fixture, openFixture } from './fixture.ts'
import { publishableKey, secretKey } from './keys.ts'
import {
  type Load,
  type Measurement,
  runBareSql,
  runStatement,
  runWrk,
  type Server,
  start,
  writeRequests,
} from './measure.ts'
import { pages } from './pages.ts'
import { compareAnswers, peerCases, startPeer } from '../peer/peer.ts'
import { openWays } from './ways.ts'
import { median, row } from './table.ts'
import { countFlights } from '../../tests/tools/flights.ts'

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
    pools: { type: 'string', default: '' },
    against: { type: 'string', default: '' },
    pages: { type: 'boolean', default: false },
    half: { type: 'boolean', default: false },
    pooler: { type: 'boolean', default: false },
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
const serve = (script: string, args: string[], env: Record<string, string>): Promise<Server> =>
  start(script, args, env, defer)
const serveFunctions = (
  database: string,
  auth?: Server,
  pool = '6',
  script = 'serve_functions.ts',
  args: string[] = [],
) => {
  const edge = new URL(database)
  edge.username = 'edge_functions'
  return serve(script, args, {
    EDGE_DATABASE_URL: edge.href,
    DATABASE_POOL: pool,
    // load.lua sends every request from another address, so that no rate limit is reached.
    CLIENT_ADDRESS_HEADER: 'cf-connecting-ip',
    ...auth && { SUPABASE_URL: auth.base },
    SUPABASE_PUBLISHABLE_KEY: publishableKey,
    SUPABASE_SECRET_KEY: secretKey,
  })
}
const serveLite = ({ url }: Fixture) => serve('serve_lite.ts', [], { DATABASE_URL: url })

/** A database, and the index of the next request of a case whose requests can be made once. */
interface Database {
  url: string
  sql: postgres.Sql
  from: number
}

/** Sets the case up and runs it. */
const runCase = async (
  database: Database,
  testCase: Case,
  run: (from?: number) => Promise<Measurement>,
): Promise<Measurement> => {
  const { name, setup, once, requests } = testCase
  if (setup) await database.sql.unsafe(setup)
  if (!once) return await run()
  if (setup) database.from = 0
  if (database.from >= requests.length) {
    throw new Error(`${name} has only ${requests.length} requests; reduce --rounds or --seconds`)
  }
  const measurement = await run(database.from)
  // With a margin, because some of pgbench's clients are ahead of others.
  database.from += Math.ceil(1.5 * measurement.requests) + 4 * defaultLoad.connections
  return measurement
}
// Hashing a password takes Auth a tenth of a second. Requests that can be made once would run out in the full time.
const loadOf = ({ usesAuth, once }: Case): Load => {
  if (usesAuth) return { seconds: 2 * defaultLoad.seconds, connections: 4 }
  return once ? { ...defaultLoad, seconds: Math.max(1, Math.floor(defaultLoad.seconds / 2)) } : defaultLoad
}
const selectedCases = async (fixture: Fixture): Promise<Case[]> =>
  (await casesOf(fixture)).filter(({ name }) => values.only!.split(',').some((part) => name.includes(part)))

const elapsed = () => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`
const tokens = new Map<number, string>()
const medianOf = (all: Measurement[], what: keyof Measurement): number => median(all.map((one) => one[what]))
const failures = (...all: Measurement[][]): number => all.flat().reduce((sum, { failed }) => sum + failed, 0)
const integer = (value: number): string => value.toFixed(0)
const decimal = (value: number): string => value.toFixed(1)
const speed = (all: Measurement[]): string[] => [
  integer(medianOf(all, 'rate')),
  decimal(medianOf(all, 'p50')),
  decimal(medianOf(all, 'p99')),
]

/** Median ratios over the rounds: of requests per second, and of requests per processor time. */
const ratios = (some: Measurement[], others: Measurement[], digits = 2): string => {
  if (others.length === 0) return ''
  const cost = ({ database, server }: Measurement) => database + server
  const byRate = some.map(({ rate }, round) => rate / others[round]!.rate)
  const byCost = some.map((one, round) => cost(others[round]!) / cost(one))
  return `${median(byRate).toFixed(digits)} ${median(byCost).toFixed(digits)}`
}

const comparePoolSizes = async (fixture: Fixture, sizes: string[]): Promise<void> => {
  const [testCase] = await selectedCases(fixture)
  if (!testCase) throw new Error('--only matches no endpoint')
  const file = await writeRequests(fixture, testCase, ({ path }) => path, tokens)
  const pools = await Promise.all(sizes.map(async (size) => ({
    size,
    server: await serveFunctions(fixture.url, undefined, size),
    all: [] as Measurement[],
  })))
  for (let round = 0; round < rounds; round++) {
    for (const { server, all } of pools) all.push(await runWrk(fixture, server, file, defaultLoad))
  }
  console.log(`\n${testCase.name} by pool size`)
  console.log(row('connections', ['/s', 'p50 ms', 'p99 ms']))
  for (const { size, all } of pools) {
    console.log(row(size, speed(all)))
  }
  for (const { server } of pools) await server.stop()
  await Deno.remove(file)
}

/** Compares requests per second with another checkout's functions, or with the peer, round by round. */
const compareWithCheckout = async (fixture: Fixture, checkout: string, sizes: string[]): Promise<void> => {
  const database: Database = { url: fixture.url, sql: fixture.sql, from: 0 }
  const otherScript = `file://${checkout}/bench/endpoints/serve_functions.ts`
  const isPeer = checkout === 'express'
  const theirs = isPeer
    ? await startPeer(fixture, sizes[0]!, defer)
    : await serveFunctions(fixture.url, undefined, '3', otherScript)
  const ours = await Promise.all(sizes.map((size) => serveFunctions(fixture.url, undefined, size)))
  const servers = [theirs, ...ours]
  console.log(
    row('', [
      'theirs /s',
      'p99 ms',
      ...sizes.map((size) => `with ${size}`),
      ...sizes.map(() => 'p99 ms'),
      'µs Postgres',
      '… theirs',
    ]),
  )
  const selected = await selectedCases(fixture)
  const compared = isPeer ? peerCases(selected) : selected
  if (isPeer) { for (const testCase of compared) await compareAnswers(fixture, testCase, servers) }
  // The set-up of marking read restores our rows alone.
  for (const testCase of compared.filter(({ setup }) => !isPeer || !setup)) {
    database.from = 0
    const file = await writeRequests(fixture, testCase, ({ path }) => path, tokens)
    const all = servers.map((): Measurement[] => [])
    for (let round = -1; round < rounds; round++) {
      for (const index of round % 2 ? servers.keys() : [...servers.keys()].toReversed()) {
        const run = (from?: number) => runWrk(fixture, servers[index]!, file, defaultLoad, { from })
        const measurement = await runCase(database, testCase, run)
        // The first round is a warm-up.
        if (round >= 0) all[index]!.push(measurement)
      }
    }
    const [before, ...after] = all
    console.log(row(testCase.name, [
      integer(medianOf(before!, 'rate')),
      decimal(medianOf(before!, 'p99')),
      ...after.map((one) => ratios(one, before!)),
      ...after.map((one) => decimal(medianOf(one, 'p99'))),
      integer(medianOf(after[0]!, 'database')),
      integer(medianOf(before!, 'database')),
    ]))
    if (failures(...all)) console.log(`${all.map((one) => failures(one)).join(', ')} failed`)
    await Deno.remove(file)
  }
}

const compareEndpoints = async (fixture: Fixture, copy: Database): Promise<void> => {
  const database: Database = { url: fixture.url, sql: fixture.sql, from: 0 }
  const lite = await serveLite(fixture)
  const functions = await serveFunctions(database.url, lite)
  const functionsWithoutRls = await serveFunctions(copy.url)
  const functionsWithBareSql = await serve('serve_functions.ts', ['--bare'], { EDGE_DATABASE_URL: fixture.url })
  console.log(
    '\nEach ratio twice: by requests per second, and by requests per processor time, which other work disturbs less.',
  )
  console.log(row('', [
    ...['/s', 'p50 ms', 'p99 ms', 'µs Postgres', 'µs function', 'failed'],
    ...['of pgbench', 'of RLS off', 'SQL RLS off', 'of bare', 'SQL of bare', 'x lite'],
  ]))
  const notDurable = '-c synchronous_commit=off'
  for (const testCase of await selectedCases(fixture)) {
    const { name, method, usesAuth, bareSql, litePath } = testCase
    database.from = copy.from = 0
    const file = await writeRequests(fixture, testCase, ({ path }) => path, tokens)
    const liteFile = litePath && await writeRequests(fixture, testCase, litePath, tokens)
    const load = loadOf(testCase)
    const http = (server: Server, on: Database, requests: string, by = load) =>
      runCase(on, testCase, (from) => runWrk(fixture, server, requests, by, { from }))
    // Warm up the servers and their plans.
    const warmUp = { ...load, seconds: Math.min(1, load.seconds) }
    await http(functions, database, file, warmUp)
    if (!usesAuth) await http(functionsWithoutRls, copy, file, warmUp)
    if (bareSql) await http(functionsWithBareSql, database, file, warmUp)
    if (liteFile) await http(lite, database, liteFile, warmUp)

    const results = (): Measurement[] => []
    const rls = { server: functions, on: database, http: results(), sql: results() }
    const noRls = { server: functionsWithoutRls, on: copy, http: results(), sql: results() }
    const bare = { http: results(), sql: results() }
    const lazy = { sql: results(), bare: results() }
    const viaLite = results()
    for (let round = 0; round < rounds; round++) {
      // Alternate the order, because the second finds the processor caches warm.
      for (const side of round % 2 ? [noRls, rls] : [rls, noRls]) {
        if (side === rls || !usesAuth) side.http.push(await http(side.server, side.on, file))
        if (!statementOf(testCase)) continue
        const run = (from?: number) => runStatement(fixture, testCase, load, { database: side.on.url, from })
        side.sql.push(await runCase(side.on, testCase, run))
      }
      if (bareSql) bare.http.push(await http(functionsWithBareSql, database, file))
      if (bareSql) bare.sql.push(await runBareSql(fixture, testCase, load))
      if (liteFile) viaLite.push(await http(lite, database, liteFile))
      if (method === 'POST' && bareSql) {
        lazy.sql.push(await runStatement(fixture, testCase, load, { options: notDurable }))
        lazy.bare.push(await runBareSql(fixture, testCase, load, notDurable))
      }
    }
    console.log(row(name, [
      ...speed(rls.http),
      integer(medianOf(rls.http, 'database')),
      integer(medianOf(rls.http, 'server')),
      integer(failures(rls.http, noRls.http, bare.http, viaLite)),
      ratios(rls.http, rls.sql),
      ratios(rls.http, noRls.http),
      ratios(rls.sql, noRls.sql),
      ratios(rls.http, bare.http),
      bareSql ? ratios(rls.sql, bare.sql) : '',
      ratios(rls.http, viaLite, 1),
    ]))
    if (lazy.sql.length > 0) {
      console.log(row('… synchronous_commit off', [...Array(10).fill(''), ratios(lazy.sql, lazy.bare)]))
    }
    for (const path of [file, liteFile]) if (path) await Deno.remove(path)
  }
}

/**
 * Approximates an open loop at half of the maximum rate: of 256 connections nearly all are in a random pause, so
 * requests arrive at random times even while others are pending. This is a run of its own because idle servers take
 * processor time, too.
 */
const measureHalfLoad = async (fixture: Fixture): Promise<void> => {
  const database: Database = { url: fixture.url, sql: fixture.sql, from: 0 }
  const functions = await serveFunctions(fixture.url, await serveLite(fixture))
  console.log(`\nat half load\n${row('', ['/s', 'p50 ms', 'p99 ms', 'p99/p50', 'failed'])}`)
  for (const testCase of await selectedCases(fixture)) {
    database.from = 0
    const file = await writeRequests(fixture, testCase, ({ path }) => path, tokens)
    const load = loadOf(testCase)
    const http = (by: Load, pause?: number): Promise<Measurement> =>
      runCase(database, testCase, (from) => runWrk(fixture, functions, file, by, { pause, from }))
    await http({ ...load, seconds: Math.min(1, load.seconds) })
    const all: Measurement[] = []
    for (let round = 0; round < rounds; round++) {
      const { rate } = await http(load)
      // Twice as long, because opening 256 connections counts as well.
      all.push(await http({ seconds: 2 * load.seconds, connections: 256 }, 256_000 / (rate / 2)))
    }
    console.log(row(testCase.name, [
      ...speed(all),
      decimal(median(all.map(({ p50, p99 }) => p99 / p50))),
      integer(failures(all)),
    ]))
    await Deno.remove(file)
  }
}

/** Ratios to a direct connection, with as many connections and at the same distance. */
const compareWaysToDatabase = async (fixture: Fixture): Promise<void> => {
  const ways = await openWays(fixture.url, fixture.prefix, defer)
  console.log(row('', ['/s', 'p50 ms', 'p99 ms', ...ways.slice(1).map(({ name }) => name)]))
  for (const pool of ['1', '6']) {
    for (const milliseconds of [0, 1]) {
      const servers = await Promise.all(ways.map(async ({ url }) => {
        const { url: database } = await countFlights(url, milliseconds)
        return await serveFunctions(database, undefined, pool, 'serve_functions.ts', [])
      }))
      for (const testCase of await selectedCases(fixture)) {
        const file = await writeRequests(fixture, testCase, ({ path }) => path, tokens)
        const all = servers.map((): Measurement[] => [])
        for (let round = -1; round < rounds; round++) {
          for (const index of round % 2 ? servers.keys() : [...servers.keys()].toReversed()) {
            const measurement = await runWrk(fixture, servers[index]!, file, defaultLoad)
            // The first round is a warm-up.
            if (round >= 0) all[index]!.push(measurement)
          }
        }
        const [direct, ...others] = all
        console.log(row(`${testCase.name}, pool ${pool}, ${2 * milliseconds} ms`, [
          ...speed(direct!),
          ...others.map((one) => ratios(one, direct!)),
        ]))
        if (failures(...all)) console.log(`${failures(...all)} failed`)
        await Deno.remove(file)
      }
      for (const server of servers) await server.stop()
    }
  }
}

try {
  const { users, conversations, messages } = values
  const size = { users: Number(users), conversations: Number(conversations), messages: Number(messages) }
  const fixture = await openFixture(size, defer)
  const copy = values.half || values.against || values.pooler ? null : await fixture.withoutPolicies()
  console.log(`${users} users, ${conversations} conversations, ${messages} messages, ready after ${elapsed()}`)
  if (values.pages && copy) await pages(fixture, await selectedCases(fixture), copy)
  else {
    if (values.against) await compareWithCheckout(fixture, values.against, (values.pools || '3').split(','))
    else if (values.pools) await comparePoolSizes(fixture, values.pools.split(','))
    if (values.half) await measureHalfLoad(fixture)
    if (values.pooler) await compareWaysToDatabase(fixture)
    if (copy) await compareEndpoints(fixture, { ...copy, from: 0 })
  }
  console.log(`\ndone after ${elapsed()}`)
} finally {
  await end()
}
