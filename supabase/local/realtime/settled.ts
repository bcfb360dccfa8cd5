import type { Database } from '../database.ts'

const patience = 2000

/**
 * Waits for the transactions that are under way to end. Those that wrote before somebody was known to listen say nothing when they commit,
 * and whoever reads once they have joined is to find what they wrote.
 */
export const settled = async (database: Database): Promise<void> => {
  const end = Date.now() + patience
  const [now] = await database.query('select pg_snapshot_xmax(pg_current_snapshot())::text as next', [])
  while (Date.now() < end) {
    const [row] = await database.query(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= ($1::text)::xid8 as settled',
      [now?.next],
    )
    if (row?.settled) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
