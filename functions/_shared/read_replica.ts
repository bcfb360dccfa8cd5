import { describeError, isAnswer } from './errors.ts'
import { log } from './log.ts'
import type { Query } from './postgres.ts'

// In milliseconds. A statement waits at most 4 s for a connection, so what it reads is less than 10 s old.
const maxLag = 5000
const pauseBetweenChecks = 1000

/** What runs if the server is a replica that has replayed the write-ahead log to this parameter. */
const ifReplayed = (parameter: number): string =>
  `pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $${parameter}::pg_lsn and `

/**
 * Reads from a replica that lags by less than `maxLag`, and otherwise from the primary, without an error. Once a second
 * while there are requests, the primary is asked how far its write-ahead log reaches. Each statement carries the oldest
 * of these positions that is younger than `maxLag` as its condition, in the same round trip, so the clocks of the
 * servers do not matter, nor whether anything is written. A replica that lags, fails or was promoted is not used until
 * it has met the condition in such a check, which no request waits for.
 */
export const readFromReplica = (replica: Query, primary: Query) => {
  const positions: { value: string; at: number }[] = []
  let checkedAt = -Infinity
  let isChecking = false
  /** Undefined until the first check of the replica. */
  let isUsed: boolean | undefined

  const ageOf = ({ at }: { at: number }): number => performance.now() - at
  /** A replica may not have replayed one of the last second yet, so that one proves nothing. */
  const oldEnough = (): string | undefined => {
    while (positions[0] && ageOf(positions[0]) > maxLag) positions.shift()
    return positions[0] && ageOf(positions[0]) >= pauseBetweenChecks ? positions[0].value : undefined
  }

  const stopUsing = (reason: Record<string, unknown>): void => {
    if (isUsed !== false) log('warn', 'Read replica not used', reason)
    isUsed = false
  }
  const lagsOrLeads = { cause: 'It lags by more than 5 s, or is no replica' }

  const checkReplica = async (): Promise<void> => {
    const position = isUsed ? undefined : oldEnough()
    if (!position) return
    const [row] = await replica(`select ${ifReplayed(1)}true as replayed`, [position])
    if (row?.replayed !== 't') return stopUsing(lagsOrLeads)
    log('info', 'Read replica used')
    isUsed = true
  }
  const readPosition = async (): Promise<void> => {
    const at = performance.now()
    const [row] = await primary('select pg_current_wal_flush_lsn() as position', [])
    positions.push({ value: String(row?.position), at })
  }
  const check = async (): Promise<void> => {
    if (isChecking || performance.now() - checkedAt < pauseBetweenChecks) return
    isChecking = true
    checkedAt = performance.now()
    await Promise.all([
      checkReplica().catch((error) => stopUsing(describeError(error))),
      // An overloaded primary does not get these requests as well, until the positions are too old.
      readPosition().catch((error) => log('warn', 'Position of the primary not read', describeError(error))),
    ])
    isChecking = false
  }

  /** `write` puts the condition into the statement, whose `body` is null if that does not hold. */
  return async (write: (condition: string) => string, values: unknown[]): Promise<Record<string, unknown>[]> => {
    void check()
    const position = isUsed ? oldEnough() : undefined
    if (position) {
      try {
        const rows = await replica(write(ifReplayed(values.length + 1)), [...values, position])
        if (rows[0]?.body != null) return rows
        stopUsing(lagsOrLeads)
      } catch (error) {
        if (isAnswer(error)) throw error
        stopUsing(describeError(error))
      }
    }
    return await primary(write(''), values)
  }
}
