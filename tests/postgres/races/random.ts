// Races at random: many calls over several connections, and afterwards everything must be as if they had come one after
// the other. What each lock is for is tried in meet.ts; this is for what nobody has thought of.
import postgres from 'postgres'
import { expect } from 'vitest'
import { seededRandom } from '../../tools/random.ts'

export interface Racer {
  sql: postgres.Sql
  random: () => number
  below: (limit: number) => number
  pick: <Item>(items: readonly Item[]) => Item
  /** A call of an API function, as this person. */
  as: (person: number, call: (db: postgres.TransactionSql) => Promise<postgres.Row[]>) => Promise<postgres.Row[]>
}

/** How often this is done, relative to the others, and what. */
type Move = [often: number, move: (racer: Racer) => Promise<unknown>]

/**
 * Makes so many of these moves, each at random; returns how often each outcome came: ok, a SQLSTATE, or the message of
 * what a move itself has thrown. Others than these refusals must not come, deadlocks included.
 */
export const race = async (
  connect: () => postgres.Sql,
  { workers, calls, moves, refusals, seed = 0 }: {
    workers: number
    calls: number
    moves: Move[]
    refusals: string[]
    seed?: number
  },
): Promise<Record<string, number>> => {
  const tally: Record<string, number> = {}
  const choices = moves.flatMap(([often, move]) => Array.from({ length: often }, () => move))
  let remaining = calls
  const work = async (_: unknown, worker: number): Promise<void> => {
    const random = seededRandom(seed + worker)
    const below = (limit: number) => Math.floor(random() * limit)
    const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!
    const sql = connect()
    const as: Racer['as'] = async (person, call) =>
      await sql.begin(async (db) => {
        await db`select set_config('api.caller', ${`${person}`}, true)`
        return await call(db)
      })
    while (remaining-- > 0) {
      const outcome = await pick(choices)({ sql, random, below, pick, as })
        .then(() => 'ok', ({ code, message }) => code ?? message)
      tally[outcome] = (tally[outcome] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: workers }).map(work))
  expect(Object.keys(tally).filter((outcome) => !['ok', ...refusals].includes(outcome)), JSON.stringify(tally))
    .toEqual([])
  return tally
}
