import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import type { Database } from '../database.ts'
import { yieldToEventLoop } from '../mutex.ts'
import type { Channel } from './channel.ts'
import { type Condition, readFilter } from './filters.ts'
import { type Identity, RealtimeError } from './identity.ts'

/** What a client asks to receive, as it sent it: `{event, schema, table, filter}`. */
export type Binding = Record<string, unknown>

interface Column {
  name: string
  type: string
  is_key: boolean
  readers: string[] | null
}

export interface Subscription {
  /** The id that the join's reply gives to the client. */
  id: number
  channel: Channel
  binding: Binding
  /** Undefined if there is none, null if it is invalid. */
  filter: Condition | null | undefined
  /** The tables that the binding matches and their columns; empty until the database has accepted it. */
  tables: Map<string, Column[]>
}

interface Change {
  id: number
  schema: string
  table: string
  type: 'INSERT' | 'UPDATE' | 'DELETE'
  key: Record<string, unknown>
  at: string
}
type Row = Record<string, unknown> | null

const batchSize = 100
// Each subscription adds a millisecond to every change of its table, no matter who makes the change.
const maxPerUser = 300
// Subscribers checked in one statement; between statements PGlite can answer others.
const maxPerStatement = 50

const payloadOf = ({ schema, table, type, key, at }: Change, record: Row, all: Column[], { claims }: Identity) => {
  const columns = all.filter(({ readers }) => readers?.includes(claims.role))
  return {
    schema,
    table,
    type,
    commit_timestamp: new Date(at).toISOString(),
    columns: columns.map(({ name, type }) => ({ name, type })),
    ...(type !== 'DELETE' && { record }),
    // As with the default replica identity, the old row has its primary key alone.
    ...(type !== 'INSERT' && {
      old_record: Object.fromEntries(columns.filter(({ is_key }) => is_key).map(({ name }) => [name, key[name]])),
    }),
    errors: null,
  }
}

const rejection = ({ event, schema, table, filter }: Binding): string =>
  'Unable to subscribe to changes with given parameters. ' +
  'Please check Realtime is enabled for the given connect parameters: ' +
  `[event: ${event}, schema: ${schema}, table: ${table}, filters: ${JSON.stringify(filter ?? [])}]`

let lastId = 0

/** As local_realtime.visible_changes takes it; subscriptions with the same one see the same. */
const subscriberOf = ({ channel, filter }: Subscription) => JSON.stringify([channel.identity.claims, filter])

/** For each subscription to one table, the changes that it may see, by their ids, and the rows as it may see them. */
const visibleTo = async (
  database: Database,
  changes: Change[],
  subscriptions: Subscription[],
): Promise<Map<Subscription, Map<number, Row>>> => {
  const visible = new Map<Subscription, Map<number, Row>>()
  const { schema, table } = changes[0]!
  const subscribers = [...Map.groupBy(subscriptions, subscriberOf)]
  for (let at = 0; at < subscribers.length; at += maxPerStatement) {
    if (at > 0) await yieldToEventLoop()
    const batch = subscribers.slice(at, at + maxPerStatement)
    const rows = await database.query(
      `select local_realtime.visible_changes(
         format('%I.%I', $1::text, $2::text)::regclass, ($3::text)::jsonb, subscriber -> 0, subscriber -> 1
       ) as visible
       from jsonb_array_elements(($4::text)::jsonb) as subscriber`,
      [schema, table, JSON.stringify(changes), `[${batch.map(([subscriber]) => subscriber).join()}]`],
    )
    for (const [index, [, alike]] of batch.entries()) {
      const seen = rows[index]!.visible as { id: number; record: Row }[]
      for (const one of alike) visible.set(one, new Map(seen.map(({ id, record }) => [id, record])))
    }
  }
  return visible
}

/**
 * Delivers changed rows to the channels that subscribed to them and may read them. `onLoss` is called when changes
 * cannot be read, and so cannot be delivered.
 */
export const openPostgresChanges = (database: Database, onLoss: () => void) => {
  const active = new Set<Subscription>()
  let pending: Change[] = []
  let isRunning = false

  const deliver = async (batch: Change[]): Promise<void> => {
    for (const changes of Map.groupBy(batch, ({ schema, table }) => `${schema}.${table}`).values()) {
      const { schema, table } = changes[0]!
      const subscribers = [...active].filter(({ binding, tables }) => binding.schema === schema && tables.has(table))
      if (subscribers.length === 0) continue
      const visible = await visibleTo(database, changes, subscribers)
      for (const change of changes) {
        const receivers = subscribers.filter((one) =>
          active.has(one) && visible.get(one)!.has(change.id) &&
          ['*', change.type].includes(String(one.binding.event).toUpperCase())
        )
        for (const [channel, its] of Map.groupBy(receivers, (one) => one.channel)) {
          const record = visible.get(its[0]!)!.get(change.id)!
          const data = payloadOf(change, record, its[0]!.tables.get(table)!, channel.identity)
          channel.push('postgres_changes', { ids: its.map(({ id }) => id), data })
        }
      }
    }
  }

  /** Delivers in the order of the notifications, which is that of the commits. */
  const run = async (): Promise<void> => {
    if (isRunning) return
    isRunning = true
    try {
      while (pending.length > 0) await deliver(pending.splice(0, batchSize))
    } catch (error) {
      log('error', 'Changes could not be read', describeError(error))
      pending = []
      onLoss()
    } finally {
      isRunning = false
    }
  }

  return {
    /** Registers bindings of a channel; throws a RealtimeError above the limit of one user. */
    prepare: (channel: Channel, bindings: Binding[]): Subscription[] => {
      const { role, sub } = channel.identity.claims
      const own = [...active].filter(({ channel: { identity: { claims } } }) =>
        claims.role === role && claims.sub === sub
      )
      if (role !== 'service_role' && own.length + bindings.length > maxPerUser) {
        throw new RealtimeError(`TooManyPostgresChanges: A user may have at most ${maxPerUser} postgres_changes`)
      }
      const subscriptions = bindings.map((binding) => ({
        id: ++lastId,
        channel,
        binding,
        filter: binding.filter ? readFilter(String(binding.filter)) : undefined,
        tables: new Map(),
      }))
      // Add all of them before the first await, so that a channel which leaves meanwhile removes all of them.
      for (const subscription of subscriptions) active.add(subscription)
      return subscriptions
    },
    /** Activates subscriptions; returns the error message if the database rejects any of them. */
    subscribe: async (subscriptions: Subscription[]): Promise<string | null> => {
      let rejected: string | null = null
      for (const [index, subscription] of subscriptions.entries()) {
        if (index % 20 === 19) await yieldToEventLoop()
        const { binding, filter } = subscription
        const { schema, table } = binding
        const [row] = filter === null ? [] : await database.query(
          'select local_realtime.subscribe(($1::text)::jsonb) as tables',
          [JSON.stringify({ schema, table, filter: filter ?? null })],
        )
        const tables = row?.tables as { table: string; columns: Column[] }[] | null | undefined
        subscription.tables = new Map(tables?.map(({ table, columns }) => [table, columns]))
        if (tables) continue
        active.delete(subscription)
        rejected ??= rejection(binding)
      }
      return rejected
    },
    unsubscribe: (channel: Channel): void => {
      for (const subscription of active) {
        if (subscription.channel === channel) active.delete(subscription)
      }
    },
    notify: (change: Omit<Change, 'id'>): void => {
      if (active.size === 0) return
      pending.push({ id: ++lastId, ...change })
      void run()
    },
  }
}
export type PostgresChanges = ReturnType<typeof openPostgresChanges>
