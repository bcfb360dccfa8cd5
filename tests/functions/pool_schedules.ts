/**
 * Run by pool.test.ts: random schedules of callers on one pool, against a server that injects every fault of a server
 * or network. Each statement carries the name of its caller. Prints the counts as JSON.
 *   deno run -A tests/functions/pool_schedules.ts SCHEDULES SEED [pipelined]
 */
import postgres from 'postgres'
import { limitInFlight, openPool, type Query, retryOnce, statements } from '../../functions/_shared/postgres.ts'
import { seededRandom } from '../tools/random.ts'
import { pause } from '../tools/wait.ts'
import { behaviours, openFakePostgres } from './fake_postgres.ts'

const [schedules = '100', seed = '1', kind] = Deno.args
console.warn = () => {}

/** Refused by Postgres without effect, so they may be executed twice. */
const repeatable = ['deadlock', 'stale']

const limits = { waitMilliseconds: 30, answerMilliseconds: 45, idleMilliseconds: 10 }

/** The former implementation: statements are pipelined and cancelled when they take too long. */
const pipelined = (url: string): Query => {
  const sql = postgres(url, { max: 1, fetch_types: false, onnotice: () => {} })
  return async (text, values) => {
    const query = sql.unsafe(text, values as never[], { prepare: true })
    const { canceller } = query as unknown as { canceller: (query: unknown) => Promise<void> }
    const timer = setTimeout(() => canceller(query).catch(() => {}), limits.answerMilliseconds)
    const late = new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error('late')), 5 * limits.answerMilliseconds)
    )
    return await Promise.race([query, late]).finally(() => clearTimeout(timer))
  }
}

const found = {
  schedules: 0,
  statements: 0,
  answers: 0,
  errors: 0,
  busy: 0,
  mixedUp: 0,
  unsent: 0,
  doubled: 0,
  unending: 0,
  leftOpen: 0,
  unusable: 0,
}

/** Counts connections that stay open, which on a busy machine takes longer to tell than `idleMilliseconds`. */
const closeServer = async (server: Awaited<ReturnType<typeof openFakePostgres>>): Promise<void> => {
  const deadline = performance.now() + 10_000
  while (server.open() && performance.now() < deadline) await pause(100)
  found.leftOpen += server.open()
  server.close()
}
const closing: Promise<void>[] = []

const runSchedule = async (name: string, random: () => number): Promise<void> => {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
  const connections = pick([1, 1, 2, 3])
  const server = await openFakePostgres()
  const pool = kind === 'pipelined'
    ? pipelined(server.url)
    : limitInFlight(retryOnce(openPool(server.url, { ...limits, connections })), 1000)
  // Each schedule has a queue of its own.
  let inFlight = 0
  const room = connections + pick([2, 5, 20])
  const calls = Array.from({ length: 3 + Math.floor(random() * 10) }, (_, index) => ({
    caller: `${name}.${index}`,
    // Half of the statements succeed, so that not only faults are seen.
    behaviour: random() < 0.5 ? 'row' : pick(behaviours),
    delay: random() < 0.5 ? 0 : Math.floor(random() * 20),
    milliseconds: random() < 0.15 ? 30 + Math.floor(random() * 40) : Math.floor(random() * 4),
    disconnects: random() < 0.1,
  }))
  const call = async (caller: string, behaviour: string, milliseconds: number): Promise<void> => {
    found.statements++
    if (inFlight >= room) return void found.busy++
    inFlight++
    try {
      const rows = await pool('select $1::text as body', [`${caller} ${behaviour} ${milliseconds}`])
      found.answers++
      if (rows.length !== 1 || rows[0]!.body !== caller) found.mixedUp++
      // Only repeatable statements are repeated, by retryOnce.
      const begun = server.executed.get(caller) ?? 0
      if (begun === 0) found.unsent++
      if (begun > (repeatable.includes(behaviour) ? 2 : 1)) found.doubled++
    } catch (error) {
      const isBusy = (error as { status?: number }).status === 503
      found[isBusy ? 'busy' : 'errors']++
      // A statement that was refused with 503 must not have been executed.
      if (isBusy && (server.executed.get(caller) ?? 0) > (repeatable.includes(behaviour) ? 1 : 0)) found.doubled++
    } finally {
      inFlight--
    }
  }
  const abandoned: Promise<void>[] = []
  const work = calls.map(async ({ caller, behaviour, delay, milliseconds, disconnects }) => {
    await pause(delay)
    const answer = call(caller, behaviour, milliseconds)
    if (disconnects) return void abandoned.push(answer)
    await answer
    // Some clients retry.
    if (random() < 0.2) await call(`${caller}again`, 'row', 0)
  })
  const isOver = await Promise.race([Promise.all(work).then(() => true), pause(20_000).then(() => false)])
  if (!isOver) found.unending++
  // After all faults the pool must still serve the right rows.
  const deadline = performance.now() + (kind === 'pipelined' ? 500 : 20_000)
  for (let rows = null; !rows;) {
    rows = await pool('select $1::text as body', [`${name}.last row 0`]).catch(() => null)
    if (rows && rows[0]?.body !== `${name}.last`) found.mixedUp++
    if (!rows && performance.now() > deadline) {
      found.unusable++
      break
    }
    if (!rows) await pause(5)
  }
  await Promise.all(abandoned)
  found.schedules++
  closing.push(closeServer(server))
}

const random = seededRandom(Number(seed))
const names = Array.from(
  { length: Number(schedules) },
  (_, index) => ({ name: `s${index}`, seed: Math.floor(random() * 2 ** 31) }),
)
// More at once delay each other until only timeouts are seen: with 32, 1 statement in 17 was answered; with 8, 1 in 3.
const workers = Array.from({ length: 8 }, async () => {
  for (let next = names.pop(); next; next = names.pop()) await runSchedule(next.name, seededRandom(next.seed))
})
await Promise.all(workers)
await Promise.all(closing)
console.log(JSON.stringify({ ...found, inFlight: statements.inFlight }))
Deno.exit(0)
