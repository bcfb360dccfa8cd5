import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import type { Database } from '../database.ts'
import type { Hub } from './hub.ts'
import type { Invisible } from './invisible.ts'
import { waitForOpenTransactions } from './open_transactions.ts'
import type { Broadcast } from './protocol.ts'
import { expectAll, openQueue } from './queue.ts'
import { replicationStart } from './server_facts.ts'

/** Delivers broadcasts that the database sends (rows of realtime.messages) to the subscribers of their topics. */
export interface Broadcasts {
  /** Turns on the database's notifications; they reach channels that are already in the hub. */
  subscribe: () => Promise<void>
  /** Makes the next `subscribe` register again, because the database may have lost the registration. */
  reset: () => void
  /** Whether what the database sends is passed on. */
  isReady: () => boolean
  /** Begins or ends an outage, in which what the database sends is lost. */
  setOutage: (isOut: boolean) => void
  /** Takes the notification of a committed broadcast. */
  notify: (id: string, topic: string) => void
}

const batchSize = 200

const broadcastOf = (row: Record<string, unknown>): Broadcast => ({
  event: String(row.event),
  payload: String(row.payload ?? '{}'),
  meta: { id: row.id },
})

/** `onLoss` is called when a broadcast cannot be read, and so cannot be delivered. With `invisible` it has delays. */
export const openBroadcasts = (
  database: Database,
  hub: Hub,
  onLoss: () => void,
  invisible: Invisible | null = null,
): Broadcasts => {
  const hasDelays = invisible !== null
  let subscribed: Promise<void> | null = null
  let isReady = false
  let isOut = false

  const register = async (): Promise<void> => {
    if (hasDelays) await new Promise((resolve) => setTimeout(resolve, replicationStart))
    await database.query(
      `insert into local_realtime.subscribed_tables values ('realtime', 'messages') on conflict do nothing`,
      [],
    )
    // A replication slot waits for them for as long as it takes.
    await waitForOpenTransactions(database, hasDelays ? Infinity : undefined)
    isReady = !isOut
  }
  const subscribe = (): Promise<void> => {
    if (isOut) return Promise.resolve()
    return subscribed ??= register().catch((error) => {
      subscribed = null
      throw error
    })
  }
  const reset = (): void => {
    subscribed = null
    isReady = false
  }

  const deliver = async (ids: string[]): Promise<void> => {
    const rows = await database.query(
      `select id::text, topic, event, payload::text, private
       from realtime.messages
       where id = any (($1::text)::uuid[])`,
      [`{${ids.join()}}`],
    )
    expectAll(ids, rows.length)
    const found = new Map(rows.map((row) => [row.id, row]))
    // Notifications arrive in commit order; deliver in the same order.
    for (const id of ids) {
      const row = found.get(id)
      if (row?.event === 'message.created') invisible?.add(String(row.payload))
      if (row?.private) hub.broadcast(String(row.topic), broadcastOf(row))
    }
  }

  const queue = openQueue('Broadcasts', batchSize, deliver, onLoss)

  return {
    subscribe,
    reset,
    isReady: () => isReady,
    setOutage: (value) => {
      isOut = value
      reset()
      if (!isOut) void subscribe().catch((error) => log('error', 'Replication did not start', describeError(error)))
    },
    notify: (id, topic) => {
      if (hub.isEmpty() || hasDelays && !isReady) return
      // The trigger truncates topics to 500 characters, so a topic of that length may match after all.
      if (topic.length < 500 && hub.subscribers(topic).size === 0) return
      queue.add(id)
    },
  }
}
