import type { Database } from '../database.ts'
import { yieldToEventLoop } from '../mutex.ts'
import type { Channel } from './channel.ts'
import { type Condition, readFilter } from './filters.ts'
import { type Identity, RealtimeError } from './identity.ts'
import { waitForOpenTransactions } from './open_transactions.ts'
import { expectAll, openQueue } from './queue.ts'

/** What a client asks to receive, as it sent it: `{event, schema, table, filter}`. */
export type Binding = Record<string, unknown>

interface Column {
  name: string
  type: string
  is_key: boolean
  readers: string[] | null
}

/** One binding of a channel. */
export interface Subscription {
  /** The id that the join's reply gives to the client. */
  id: number
  channel: Channel
  binding: Binding
  filter: Condition[] | null
  /** The tables that the binding matches and their columns; empty until the database has accepted it. */
  tables: Map<string, Column[]>
}

/** Delivers changed rows to the channels that subscribed to them and may read them. */
export interface PostgresChanges {
  /** Registers bindings of a channel; throws a RealtimeError above the limit of one user. */
  prepare: (channel: Channel, bindings: Binding[]) => Subscription[]
  /** Activates subscriptions; returns the error message if the database rejects any of them. */
  subscribe: (subscriptions: Subscription[]) => Promise<string | null>
  unsubscribe: (channel: Channel) => void
  /** Takes the notification of a committed change. */
  notify: (id: string) => void
}

interface Change {
  id: number
  table_schema: string
  table_name: string
  type: 'INSERT' | 'UPDATE' | 'DELETE'
  record: Record<string, unknown> | null
  old_record: Record<string, unknown> | null
  changed_at: string
}

const batchSize = 100
// Each subscription adds a millisecond to every change of its table, no matter who makes the change.
const maxPerUser = 300
// Subscribers checked in one statement; between statements PGlite can answer others.
const maxPerStatement = 50

const pick = (record: Record<string, unknown> | null, columns: Column[]) =>
  Object.fromEntries(columns.map(({ name }) => [name, record?.[name] ?? null]))

const payloadOf = (change: Change, all: Column[], { claims }: Identity) => {
  const columns = all.filter(({ readers }) => readers?.includes(claims.role))
  return {
    schema: change.table_schema,
    table: change.table_name,
    type: change.type,
    commit_timestamp: new Date(change.changed_at).toISOString(),
    columns: columns.map(({ name, type }) => ({ name, type })),
    ...(change.type !== 'DELETE' && { record: pick(change.record, columns) }),
    // As with the default replica identity, the old row has its primary key alone.
    ...(change.type !== 'INSERT' && {
      old_record: pick(change.old_record, columns.filter(({ is_key }) => is_key)),
    }),
    errors: null,
  }
}

const rejection = ({ event, schema, table, filter }: Binding): string =>
  'Unable to subscribe to changes with given parameters. ' +
  'Please check Realtime is enabled for the given connect parameters: ' +
  `[event: ${event}, schema: ${schema}, table: ${table}, filters: ${JSON.stringify(filter ?? [])}]`

let lastId = 0

const readChanges = async (database: Database, ids: string[]): Promise<Change[]> => {
  const [row] = await database.query(
    `select coalesce(jsonb_agg(to_jsonb(change)), '[]') as changes
     from local_realtime.changes as change where id = any (($1::text)::bigint[])`,
    [`{${ids.join()}}`],
  )
  return row?.changes as Change[]
}

/** For each subscription to one table, the ids of the changes that it may see. */
const visibleTo = async (
  database: Database,
  changes: Change[],
  subscriptions: Subscription[],
): Promise<Map<Subscription, Set<number>>> => {
  const subscribers = subscriptions.map(({ channel, filter }) =>
    JSON.stringify({ claims: channel.identity.claims, filter })
  )
  const distinct = [...new Set(subscribers)]
  const { table_schema, table_name } = changes[0]!
  const visible: Set<number>[] = []
  while (visible.length < distinct.length) {
    if (visible.length > 0) await yieldToEventLoop()
    const batch = distinct.slice(visible.length, visible.length + maxPerStatement)
    const [row] = await database.query(
      `select local_realtime.visible_changes(
         table_schema => $1, table_name => $2, changes => ($3::text)::jsonb, subscribers => ($4::text)::jsonb
       ) as visible`,
      [table_schema, table_name, JSON.stringify(changes.map(({ id }) => id)), `[${batch.join()}]`],
    )
    for (const ids of row?.visible as number[][]) visible.push(new Set(ids))
  }
  return new Map(subscriptions.map((one, index) => [one, visible[distinct.indexOf(subscribers[index]!)]!]))
}

/** `onLoss` is called when a change cannot be read, and so cannot be delivered. */
export const openPostgresChanges = (database: Database, onLoss: () => void): PostgresChanges => {
  const active = new Set<Subscription>()
  const subscribersOf = ({ table_schema, table_name }: Change): Subscription[] =>
    [...active].filter(({ binding, tables }) => binding.schema === table_schema && tables.has(table_name))

  const deliver = async (ids: string[]): Promise<void> => {
    const found = await readChanges(database, ids)
    expectAll(ids, found.length)
    for (const changes of Map.groupBy(found, (one) => `${one.table_schema}.${one.table_name}`).values()) {
      const { table_name } = changes[0]!
      const subscribers = subscribersOf(changes[0]!)
      if (subscribers.length === 0) continue
      const visible = await visibleTo(database, changes, subscribers)
      // Notifications arrive in commit order; deliver in the same order.
      changes.sort((one, other) => ids.indexOf(`${one.id}`) - ids.indexOf(`${other.id}`))
      for (const change of changes) {
        const receivers = subscribers.filter((one) =>
          active.has(one) && visible.get(one)!.has(change.id) &&
          ['*', change.type].includes(String(one.binding.event).toUpperCase())
        )
        for (const [channel, its] of Map.groupBy(receivers, (one) => one.channel)) {
          const data = payloadOf(change, its[0]!.tables.get(table_name)!, channel.identity)
          channel.push('postgres_changes', { ids: its.map(({ id }) => id), data })
        }
      }
    }
  }

  const queue = openQueue('Changes', batchSize, deliver, onLoss)

  return {
    prepare: (channel, bindings) => {
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
        filter: typeof binding.filter === 'string' ? readFilter(binding.filter) : [],
        tables: new Map(),
      }))
      // Add all of them before the first await, so that a channel which leaves meanwhile removes all of them.
      for (const subscription of subscriptions) active.add(subscription)
      return subscriptions
    },
    subscribe: async (subscriptions) => {
      let rejected: string | null = null
      for (const [index, subscription] of subscriptions.entries()) {
        if (index % 20 === 19) await yieldToEventLoop()
        const { binding, filter } = subscription
        const { schema, table } = binding
        const [row] = filter === null ? [] : await database.query(
          'select local_realtime.subscribe(($1::text)::jsonb) as tables',
          [JSON.stringify({ schema, table, filter })],
        )
        const tables = row?.tables as { table: string; columns: Column[] }[] | null | undefined
        subscription.tables = new Map(tables?.map(({ table, columns }) => [table, columns]))
        if (tables) continue
        active.delete(subscription)
        rejected ??= rejection(binding)
      }
      await waitForOpenTransactions(database)
      return rejected
    },
    unsubscribe: (channel) => {
      for (const subscription of active) {
        if (subscription.channel === channel) active.delete(subscription)
      }
    },
    notify: (id) => {
      if (active.size > 0) queue.add(id)
    },
  }
}
