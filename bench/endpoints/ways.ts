/** The ways from a function to the database that `--pooler` compares. */
import { startPooler } from '../../tests/tools/pooler.ts'
import type { Defer } from './defer.ts'

interface Way {
  name: string
  url: string
}

/** The first is what the others are compared with. */
export const openWays = async (database: string, prefix: string, defer: Defer): Promise<Way[]> => {
  // The smallest plan's pooler has 15 connections.
  const pooler = await startPooler(database, { connections: 15, prefix })
  defer(() => Promise.resolve(pooler.stop()))
  return [
    { name: 'direct', url: database },
    { name: 'pooler', url: pooler.url },
  ]
}
