/**
 * Run by pool.test.ts: random schedules of callers on one pool, against a server that injects every fault of a server
 * or network. Each statement carries the name of its caller. Prints the counts as JSON.
 *   deno run -A tests/functions/pool_schedules.ts SCHEDULES SEED      SCHEDULES is how many at least
 */
import { limitConcurrency } from '../../functions/_shared/concurrency.ts'
import { ConnectionLoss, isDatabaseError } from '../../functions/_shared/errors.ts'
import { openPool, retryOnce } from '../../functions/_shared/postgres.ts'
import { seededRandom } from '../tools/random.ts'
import { pause } from '../tools/wait.ts'
import { type Behaviour, behaviourNames, openFakePostgres } from './fake_postgres.ts'

const [schedules = '100', seed = '1'] = Deno.args
console.warn = () => {}

const statements = limitConcurrency(() => 1000, 0, 0)
const limits = { connectionTimeoutMillis: 30, query_timeout: 45, idleTimeoutMillis: 10 }

const outcomes = { answers: 0, errors: 0, busy: 0 }
const violations = { mixedUp: 0, unsent: 0, doubled: 0, unknown: 0, unending: 0, leftOpen: 0, unusable: 0 }

/** Counts connections that stay open, which on a busy machine takes longer to tell than `idleTimeoutMillis`. */
const closeServer = async (server: Awaited<ReturnType<typeof openFakePostgres>>): Promise<void> => {
  const deadline = performance.now() + 10_000
  while (server.open() && performance.now() < deadline) await pause(20)
  violations.leftOpen += server.open()
  server.close()
}
const closing: Promise<void>[] = []

const runSchedule = async (name: string, random: () => number): Promise<void> => {
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
  const connections = pick([1, 1, 2, 3])
  const server = await openFakePostgres()
  const query = retryOnce(openPool(server.url, { ...limits, max: connections }))
  const pool: typeof query = (text, values) => statements.run(() => query(text, values))
  // Each schedule has a queue of its own.
  let inFlight = 0
  const room = connections + pick([2, 5, 20])
  const calls = Array.from({ length: 3 + Math.floor(random() * 10) }, (_, index) => ({
    caller: `${name}.${index}`,
    // Half of the statements succeed, so that not only faults are seen.
    behaviour: random() < 0.5 ? 'row' as const : pick(behaviourNames),
    delay: random() < 0.5 ? 0 : Math.floor(random() * 20),
    milliseconds: random() < 0.15 ? 30 + Math.floor(random() * 40) : Math.floor(random() * 4),
    disconnects: random() < 0.1,
  }))
  const call = async (caller: string, behaviour: Behaviour, milliseconds: number): Promise<void> => {
    // Refused by Postgres without effect, so retryOnce may execute it twice.
    const repeats = behaviour === 'deadlock' || behaviour === 'stale' ? 1 : 0
    const begun = () => server.executed.get(caller) ?? 0
    if (inFlight >= room) return void outcomes.busy++
    inFlight++
    try {
      const rows = await pool('select $1::text as body', [`${caller} ${behaviour} ${milliseconds}`])
      outcomes.answers++
      if (rows.length !== 1 || rows[0]!.body !== caller) violations.mixedUp++
      if (begun() === 0) violations.unsent++
      if (begun() > 1 + repeats) violations.doubled++
    } catch (error) {
      const isBusy = (error as { status?: number }).status === 503
      outcomes[isBusy ? 'busy' : 'errors']++
      // The functions answer 503 to a loss, and 500 to what they do not know.
      if (!isBusy && !isDatabaseError(error) && !(error instanceof ConnectionLoss)) violations.unknown++
      // A statement that was refused with 503 must not have been executed.
      if (isBusy && begun() > repeats) violations.doubled++
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
  if (!isOver) violations.unending++
  // After all faults, and the loss of what is idle, the pool must still serve the right rows.
  server.disconnect()
  const last = async () => await pool('select $1::text as body', [`${name}.last row 0`]).catch(() => null)
  const deadline = performance.now() + 20_000
  let rows = await last()
  for (; !rows && performance.now() < deadline; rows = await last()) await pause(5)
  if (!rows) violations.unusable++
  else if (rows[0]?.body !== `${name}.last`) violations.mixedUp++
  await Promise.all(abandoned)
  closing.push(closeServer(server))
}

const random = seededRandom(Number(seed))
let begun = 0
/** Each outcome must be frequent, or the schedules show nothing; on a busy machine most statements end late. */
const isEnough = () => begun >= Number(schedules) && Math.min(...Object.values(outcomes)) > Number(schedules) / 3
// More at once delay each other until only timeouts are seen: with 32, 1 statement in 17 was answered; with 8, 1 in 3.
const workers = Array.from({ length: 8 }, async () => {
  while (!isEnough()) await runSchedule(`s${++begun}`, seededRandom(Math.floor(random() * 2 ** 31)))
})
await Promise.all(workers)
await Promise.all(closing)
console.log(JSON.stringify({ ...outcomes, violations: { ...violations, inFlight: statements.inFlight() } }))
Deno.exit(0)
