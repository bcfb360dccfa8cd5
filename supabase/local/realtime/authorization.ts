import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import type { Database } from '../database.ts'
import { createMutex, type Mutex, yieldToEventLoop } from '../mutex.ts'
import type { Identity } from './identity.ts'

type Extension = 'broadcast' | 'presence'

/** What the policies on realtime.messages allow an identity on a topic. */
export interface Permissions {
  canRead: Extension[]
  canWrite: Extension[]
}

export type Authorize = (topic: string, identity: Identity) => Promise<Permissions>

/** Checks the policies as Realtime does, with rows that are rolled back. If a policy raises, nothing is allowed. */
export const openAuthorization = (database: Database): Authorize => {
  const check = async (topic: string, { claims }: Identity): Promise<Permissions> => {
    try {
      const [row] = await database.query('select local_realtime.permissions($1, ($2::text)::jsonb) as permissions', [
        topic,
        JSON.stringify(claims),
      ])
      const { can_read, can_write } = row?.permissions as Record<'can_read' | 'can_write', Extension[]>
      return { canRead: can_read, canWrite: can_write }
    } catch (error) {
      log('error', 'The policies of a topic could not be checked', describeError(error))
      return { canRead: [], canWrite: [] }
    }
  }
  // Anybody can open any number of connections: 2,000 anonymous joins on 200 of them held up everybody else for 4 s,
  // and 400 of one account for 7 s. So those of one account wait for each other, as do those without one.
  const mutexes = new Map<string, { mutex: Mutex; waiting: number }>()
  return async (topic, identity) => {
    const account = String(identity.claims.sub ?? '')
    const own = mutexes.get(account) ?? { mutex: createMutex(), waiting: 0 }
    mutexes.set(account, own)
    own.waiting++
    try {
      return await own.mutex(async () => {
        await yieldToEventLoop()
        return await check(topic, identity)
      })
    } finally {
      if (--own.waiting === 0) mutexes.delete(account)
    }
  }
}
