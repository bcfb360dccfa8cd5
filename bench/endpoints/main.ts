/**
 * Every endpoint next to pgbench with the same statement and next to the Data API and the Auth of @supabase/lite on the same data: `npm run bench`.
 * Starts a Postgres 17 of its own (durable: fsync and synchronous_commit on), loads 10,000 people, 20,000 conversations of very different
 * length and 1,000,000 messages, and starts the doors, in one Deno process without the gateway, on it. wrk asks, 16 connections. Rounds
 * alternate between whom is asked; ratios are taken within a round, and their median is shown, since only ratios mean anything on a
 * machine that does other things, too. What row level security takes is seen on a copy of the data without it: the same requests and
 * statements, where only the policies are missing, but not the caller nor the verb ("RLS off"). "Bare" leaves those out as well (bare.ts).
 *   --users=10000 --conversations=20000 --messages=1000000
 *   --rounds=3 --seconds=2 --connections=16
 *   --only=TEXT,TEXT endpoints whose name has one of these
 *   --pools=2,3,4,6,10,20   first, which size of the pool suits this machine
 *   --against=FOLDER instead: these functions in turns with those of another checkout that has its packages, by --pools or with 3 connections
 *   --half           instead: how long answers take at half load
 *   --pages          instead: what each verb reads and takes, one by one, and what of it policies take
 */
import { parseArgs } from 'node:util'
import type postgres from 'postgres'
import type { Case } from './cases/case.ts'
import { casesOf, statementOf } from './cases.ts'
import {
  asBare,
  asStatement,
  type Effort,
  type Measured,
  overHttp,
  type Server,
  start,
  type WhenDone,
  writeRequests,
} from './measure.ts'
import { pages } from './pages.ts'
import { median, row } from './table.ts'
import { publishableKey, secretKey } from './keys.ts'
import { openWorld, type World } from './world.ts'

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
  },
})
const rounds = Number(values.rounds)
const effort = { seconds: Number(values.seconds), connections: Number(values.connections) }

const began = performance.now()
const endings: (() => Promise<void>)[] = []
let ended: Promise<void> | undefined
const endAll = async (): Promise<void> => {
  for (const ending of endings.reverse()) await ending().catch(console.error)
}
// Once, and waited for by whoever asks: a signal ends what is under way, too, which then ends the rest.
const end = (): Promise<void> => ended ??= endAll()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  Deno.addSignalListener(signal, () => void end().finally(() => Deno.exit(1)))
}

const whenDone: WhenDone = (ending) => {
  endings.push(ending)
}
const serve = (script: string, args: string[], env: Record<string, string>): Promise<Server> =>
  start(script, args, env, whenDone)
const doors = (at: string, auth?: Server, pool = '6', script = 'serve_functions.ts') => {
  const edge = new URL(at)
  edge.username = 'edge_functions'
  return serve(script, [], {
    EDGE_DATABASE_URL: edge.href,
    DATABASE_POOL: pool,
    ...auth && { SUPABASE_URL: auth.base },
    SUPABASE_PUBLISHABLE_KEY: publishableKey,
    SUPABASE_SECRET_KEY: secretKey,
  })
}
const peerOn = (world: World) => serve('serve_lite.ts', [], { DATABASE_URL: world.url })

/** A database, and how far the requests of a case that can be made once were made there. */
interface Place {
  url: string
  sql: postgres.Sql
  from: number
}

/** Runs a case in a place that is made ready for it. */
const runIn = async (place: Place, some: Case, run: (from?: number) => Promise<Measured>): Promise<Measured> => {
  if (some.before) await place.sql.unsafe(some.before)
  if (!some.once) return await run()
  if (some.before) place.from = 0
  if (place.from >= some.asks.length) {
    throw new Error(`${some.name} can be asked ${some.asks.length} times, in fewer rounds`)
  }
  const measured = await run(place.from)
  // With room for clients of pgbench that got further than others.
  place.from += Math.ceil(1.5 * measured.answers) + 4 * effort.connections
  return measured
}
// A password takes Auth a tenth of a second, and what can be done once is used up sooner.
const effortOf = (some: Case): Effort => {
  if (some.withAuth) return { seconds: 2 * effort.seconds, connections: 4 }
  return some.once ? { ...effort, seconds: Math.max(1, Math.floor(effort.seconds / 2)) } : effort
}
const wanted = async (world: World): Promise<Case[]> =>
  (await casesOf(world)).filter(({ name }) => values.only!.split(',').some((part) => name.includes(part)))

const since = () => `${((performance.now() - began) / 1000).toFixed(0)} s`
const tokens = new Map<number, string>()
const middle = (all: Measured[], what: keyof Measured): number => median(all.map((one) => one[what]))
const failures = (...all: Measured[][]): number => all.flat().reduce((sum, { failed }) => sum + failed, 0)
const whole = (value: number): string => value.toFixed(0)
const fine = (value: number): string => value.toFixed(1)

/** How some compare to others, round by round: in answers a second, and in answers for the same processor time. */
const ratios = (some: Measured[], others: Measured[], digits = 2): string => {
  if (others.length === 0) return ''
  const cost = ({ database, server }: Measured) => database + server
  const byRate = some.map(({ rate }, round) => rate / others[round]!.rate)
  const byCost = some.map((one, round) => cost(others[round]!) / cost(one))
  return `${median(byRate).toFixed(digits)} ${median(byCost).toFixed(digits)}`
}

const sweep = async (world: World, sizes: string[]): Promise<void> => {
  const [page] = await wanted(world)
  if (!page) throw new Error('No endpoint has that name')
  const file = await writeRequests(world, page, ({ path }) => path, tokens)
  const pools = await Promise.all(
    sizes.map(async (size) => ({ size, server: await doors(world.url, undefined, size), all: [] as Measured[] })),
  )
  for (let round = 0; round < rounds; round++) {
    for (const { server, all } of pools) all.push(await overHttp(world, server, file, effort))
  }
  console.log(`\n${page.name} by size of the pool`)
  console.log(row('connections', ['/s', 'p50 ms', 'p99 ms']))
  for (const { size, all } of pools) {
    console.log(row(size, [whole(middle(all, 'rate')), fine(middle(all, 'p50')), fine(middle(all, 'p99'))]))
  }
  for (const { server } of pools) await server.stop()
  await Deno.remove(file)
}

/** What a change of the functions costs: answers a second of ours by those of another checkout, round by round. */
const compareWith = async (world: World, checkout: string, sizes: string[]): Promise<void> => {
  const place: Place = { url: world.url, sql: world.sql, from: 0 }
  const theirs = await doors(world.url, undefined, '3', `file://${checkout}/bench/endpoints/serve_functions.ts`)
  const ours = await Promise.all(sizes.map((size) => doors(world.url, undefined, size)))
  const servers = [theirs, ...ours]
  console.log(row('', ['theirs /s', 'p99 ms', ...sizes.map((size) => `with ${size}`), ...sizes.map(() => 'p99 ms')]))
  for (const some of await wanted(world)) {
    place.from = 0
    const file = await writeRequests(world, some, ({ path }) => path, tokens)
    const all = servers.map((): Measured[] => [])
    for (let round = -1; round < rounds; round++) {
      for (const index of round % 2 ? servers.keys() : [...servers.keys()].toReversed()) {
        const measured = await runIn(place, some, (from) => overHttp(world, servers[index]!, file, effort, { from }))
        // The first round finds plans and warms up.
        if (round >= 0) all[index]!.push(measured)
      }
    }
    const [before, ...after] = all
    console.log(row(some.name, [
      whole(middle(before!, 'rate')),
      fine(middle(before!, 'p99')),
      ...after.map((one) => ratios(one, before!)),
      ...after.map((one) => fine(middle(one, 'p99'))),
    ]))
    await Deno.remove(file)
  }
}

const compare = async (world: World, open: Place): Promise<void> => {
  const here: Place = { url: world.url, sql: world.sql, from: 0 }
  const peer = await peerOn(world)
  const [door, openApp, bare] = [
    await doors(here.url, peer),
    await doors(open.url),
    await serve('serve_functions.ts', ['--bare'], { EDGE_DATABASE_URL: world.url }),
  ]
  console.log(
    '\nTwo figures: by answers a second, and by answers for the same processor time, which other work disturbs less.',
  )
  console.log(
    row('', [
      ...['/s', 'p50 ms', 'p99 ms', 'µs of Pg', 'µs of door', 'failed'],
      ...['of pgbench', 'of RLS off', 'SQL so', 'of bare', 'SQL of bare', 'x lite'],
    ]),
  )
  const notDurable = '-c synchronous_commit=off'
  for (const some of await wanted(world)) {
    here.from = open.from = 0
    const file = await writeRequests(world, some, ({ path }) => path, tokens)
    const peerFile = some.peer && await writeRequests(world, some, some.peer, tokens)
    const each = effortOf(some)
    const ask = (server: Server, place: Place, requests: string, effort = each) =>
      runIn(place, some, (from) => overHttp(world, server, requests, effort, { from }))
    // Servers warm up, and find their plans.
    const short = { ...each, seconds: Math.min(1, each.seconds) }
    await ask(door, here, file, short)
    if (!some.withAuth) await ask(openApp, open, file, short)
    if (some.bare) await ask(bare, here, file, short)
    if (peerFile) await ask(peer, here, peerFile, short)
    const all: Measured[][] = Array.from({ length: 9 }, () => [])
    const [doors, statement, asOwner, sqlOfOwner, lite, lazy, lazyOwner, openDoors, openStatement] = all
    for (let round = 0; round < rounds; round++) {
      // In turns, for whoever comes second finds the processor warm.
      const withAndWithout = [[door, here, doors!, statement!], [openApp, open, openDoors!, openStatement!]] as const
      for (const [server, place, asked, sql] of round % 2 ? withAndWithout.toReversed() : withAndWithout) {
        if (place === here || !some.withAuth) asked.push(await ask(server, place, file))
        if (!statementOf(some)) continue
        sql.push(await runIn(place, some, (from) => asStatement(world, some, each, { at: place.url, from })))
      }
      if (some.bare) asOwner!.push(await ask(bare, here, file))
      if (some.bare) sqlOfOwner!.push(await asBare(world, some, each))
      if (peerFile) lite!.push(await ask(peer, here, peerFile))
      if (some.method === 'POST' && some.bare) {
        lazy!.push(await asStatement(world, some, each, { options: notDurable }))
        lazyOwner!.push(await asBare(world, some, each, notDurable))
      }
    }
    console.log(row(some.name, [
      whole(middle(doors!, 'rate')),
      fine(middle(doors!, 'p50')),
      fine(middle(doors!, 'p99')),
      whole(middle(doors!, 'database')),
      whole(middle(doors!, 'server')),
      whole(failures(doors!, openDoors!, asOwner!, lite!)),
      ratios(doors!, statement!),
      ratios(doors!, openDoors!),
      ratios(statement!, openStatement!),
      ratios(doors!, asOwner!),
      some.bare ? ratios(statement!, sqlOfOwner!) : '',
      ratios(doors!, lite!, 1),
    ]))
    if (lazy!.length > 0) {
      console.log(row('… synchronous_commit off', [...Array(10).fill(''), ratios(lazy!, lazyOwner!)]))
    }
    for (const name of [file, peerFile]) if (name) await Deno.remove(name)
  }
}

/**
 * An open loop but for a few in a thousand: of 256 connections nearly all wait for their next turn, which comes at random, and so requests
 * come as they do from people, also while others are not answered yet; half as many as can be answered. In a run of its own: servers that
 * stand by take turns of the processor, too.
 */
const atHalfLoad = async (world: World): Promise<void> => {
  const place: Place = { url: world.url, sql: world.sql, from: 0 }
  const door = await doors(world.url, await peerOn(world))
  console.log(`\nat half load\n${row('', ['/s', 'p50 ms', 'p99 ms', 'p99/p50', 'failed'])}`)
  for (const some of await wanted(world)) {
    place.from = 0
    const file = await writeRequests(world, some, ({ path }) => path, tokens)
    const each = effortOf(some)
    const ask = (asked: Effort, pause?: number): Promise<Measured> =>
      runIn(place, some, (from) => overHttp(world, door, file, asked, { pause, from }))
    await ask({ ...each, seconds: Math.min(1, each.seconds) })
    const all: Measured[] = []
    for (let round = 0; round < rounds; round++) {
      const { rate } = await ask(each)
      // Longer, for as many connections are opened first, and that counts, too.
      all.push(await ask({ seconds: 2 * each.seconds, connections: 256 }, 256_000 / (rate / 2)))
    }
    console.log(row(some.name, [
      whole(middle(all, 'rate')),
      fine(middle(all, 'p50')),
      fine(middle(all, 'p99')),
      fine(median(all.map(({ p50, p99 }) => p99 / p50))),
      whole(failures(all)),
    ]))
    await Deno.remove(file)
  }
}

try {
  const world = await openWorld({
    users: Number(values.users),
    conversations: Number(values.conversations),
    messages: Number(values.messages),
  }, whenDone)
  const open = values.half || values.against ? null : await world.withoutPolicies()
  console.log(
    `${values.users} people, ${values.conversations} conversations, ${values.messages} messages, ready after ${since()}`,
  )
  if (values.pages && open) await pages(world, await wanted(world), open)
  else {
    if (values.against) await compareWith(world, values.against, (values.pools || '3').split(','))
    else if (values.pools) await sweep(world, values.pools.split(','))
    if (values.half) await atHalfLoad(world)
    else if (open) await compare(world, { ...open, from: 0 })
  }
  console.log(`\ndone after ${since()}`)
} finally {
  await end()
}
