import type { Database } from '../database.ts'

/**
 * Waits for the transactions that are open now, up to two seconds unless told otherwise. What they wrote before a
 * subscription was registered is not notified when they commit; after this a client that reads its data finds it.
 */
export const waitForOpenTransactions = async (database: Database, timeout = 2000): Promise<void> => {
  const end = Date.now() + timeout
  const [now] = await database.query('select pg_snapshot_xmax(pg_current_snapshot())::text as next', [])
  while (Date.now() < end) {
    const [row] = await database.query(
      'select pg_snapshot_xmin(pg_current_snapshot()) >= ($1::text)::xid8 as have_ended',
      [now?.next],
    )
    if (row?.have_ended) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
