/**
 * How many people fit one primary, and what 100 M need: `npx deno run -A bench/simulation.ts`. Reasoned from measured
 * costs; no cluster was built. A primary is limited by its processor, by memory for what is hot, and by the WAL that a
 * replica can replay. Waiting is a queue with a server for each core, and exponential times around each operation's
 * mean, simulated event by event.
 */
import { parseArgs } from 'node:util'
import { row } from './endpoints/table.ts'

const { values } = parseArgs({
  args: Deno.args,
  options: {
    people: { type: 'string', default: '100000000' },
    cores: { type: 'string', default: '64' },
    load: { type: 'string', default: '0.7' },
    requests: { type: 'string', default: '400000' },
  },
})
const [people, cores, load, requests] = [values.people, values.cores, values.load, values.requests].map(Number) as [
  number,
  number,
  number,
  number,
]

/**
 * Milliseconds of Postgres's processor time a request (docs/scale.md: the table of `--against=express`; search from
 * "100,000 profiles"), and assumed requests of a person a day. A replica can take what tolerates seconds of age.
 */
const operations = [
  { milliseconds: 0.39, daily: 4 }, // list
  { milliseconds: 0.31, daily: 8 }, // messages
  { milliseconds: 0.15, daily: 2 }, // own account
  { milliseconds: 0.10, daily: 2, replica: true }, // public profile
  { milliseconds: 23.2, daily: 0.2, replica: true }, // search
  { milliseconds: 1.26, daily: 3, write: true }, // sending
  { milliseconds: 1.26, daily: 3, write: true }, // reading up to a message, taken to cost as much as sending
  { milliseconds: 0.81, daily: 0.05, write: true }, // opening
]
/**
 * Bytes with indexes, from the table of rows in docs/scale.md; a change, and the WAL of a write, measured at 67843d2.
 * With full pages the WAL is taken to be three times as much.
 */
const bytes = { message: 291 + 82, conversation: 216, person: 606, change: 201, log: 2507 }
const fullPages = 3
const messagesEach = 100
const conversationsEach = 2
const conversationBytes = conversationsEach * bytes.conversation
/** A primary's memory, and the share of messages that must be in it; the WAL that one process of a replica replays. */
const memory = 256e9
const hot = 0.1
const logLimit = 50
/** The busiest second next to the mean of a day; and the round trip during which a connection is taken, in ms. */
const peak = 3
const roundTrip = 1

type Operation = (typeof operations)[number]
const perSecond = (some: Operation[], count: number): number =>
  some.reduce((sum, { daily }) => sum + daily, 0) * count * peak / 86_400
const busyCores = (some: Operation[], count: number): number =>
  some.reduce((sum, { daily, milliseconds }) => sum + daily * milliseconds, 0) * count * peak / 86_400_000

const onPrimary = operations.filter(({ replica }) => !replica)
const onReplicas = operations.filter(({ replica }) => replica)
const writes = operations.filter(({ write }) => write)
/** Changes are kept for 31 days. */
const changeBytes = writes.reduce((sum, { daily }) => sum + daily, 0) * 31 * bytes.change

/** The mean and the 99th percentile of a request's time in a queue for `cores`, in ms. */
const simulate = (some: Operation[], cores: number, load: number): { p50: number; p99: number } => {
  const weight = some.reduce((sum, { daily }) => sum + daily, 0)
  const mean = some.reduce((sum, { daily, milliseconds }) => sum + daily * milliseconds, 0) / weight
  const exponential = (mean: number) => -mean * Math.log(1 - Math.random())
  const draw = () => {
    let rest = Math.random() * weight
    return exponential(some.find(({ daily }) => (rest -= daily) < 0)?.milliseconds ?? mean)
  }
  // When each core is free again; the next request takes the one that is first.
  const free = new Float64Array(cores)
  const times = new Float64Array(requests)
  let now = 0
  for (let index = 0; index < requests; index++) {
    now += exponential(mean / (cores * load))
    let first = 0
    for (let core = 1; core < cores; core++) if (free[core]! < free[first]!) first = core
    free[first] = Math.max(free[first]!, now) + draw()
    times[index] = free[first]! - now
  }
  times.sort()
  return { p50: times[Math.floor(requests / 2)]!, p99: times[Math.floor(requests * 0.99)]! }
}

const number = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 3 })
const terabytes = (count: number): number =>
  count * (messagesEach * bytes.message + conversationBytes + bytes.person + changeBytes) / 1e12

const report = (name: string, count: number): void => {
  const primary = busyCores(onPrimary, count) / load
  const connections = perSecond(onPrimary, count) * roundTrip / 1000 + busyCores(onPrimary, count)
  console.log(row(name, [
    number(count),
    number(perSecond(operations, count)),
    number(perSecond(writes, count)),
    number(primary),
    number(busyCores(onReplicas, count) / load),
    number(terabytes(count)),
    number(perSecond(writes, count) * bytes.log * fullPages / 1e6),
    number(connections / load),
  ]))
}

const columns = ['people', 'requests/s', 'writes/s', 'cores', '… replicas', 'TB', 'WAL MB/s', 'connections']
console.log(row('at the busiest second', columns))
const limits = {
  [`${cores} cores`]: cores * load / busyCores(operations, 1),
  '… reads on replicas': cores * load / busyCores(onPrimary, 1),
  [`${memory / 1e9} GB of memory`]: memory /
    (bytes.person + (messagesEach * bytes.message + changeBytes) * hot + conversationBytes),
  [`${logLimit} MB/s of WAL`]: logLimit * 1e6 / (perSecond(writes, 1) * bytes.log * fullPages),
}
for (const [name, count] of Object.entries(limits)) report(`1 primary, by ${name}`, count)
const shards = Math.ceil(people / Math.min(...Object.values(limits)))
report('all together', people)
report(`each of ${shards} primaries`, people / shards)
for (const [name, crossing] of [['by region', 0.1], ['by hash of people', 1 - 1 / shards]] as const) {
  const extra = busyCores(writes, people) * crossing / load
  console.log(row(`${name}: more cores`, [number(extra), `${(100 * crossing).toFixed(0)} % cross`]))
}
console.log(`\n${row('ms in the queue', ['p50', 'p99'])}`)
for (const [name, some] of [['all', operations], ['without what replicas take', onPrimary]] as const) {
  for (const share of [load, 0.9]) {
    for (const count of [16, cores]) {
      const { p50, p99 } = simulate(some, count, share)
      console.log(row(`${name}, ${count} cores, ${share}`, [p50.toFixed(2), p99.toFixed(2)]))
    }
  }
}
