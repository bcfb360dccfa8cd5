import type { Database } from '../database.ts'
import type { Channel } from './channel.ts'
import { readFilter, type Term } from './filters.ts'
import { type Identity, Refusal } from './identity.ts'
import { expectAll, openQueue } from './queue.ts'
import { settled } from './settled.ts'

/** What a client asks to follow: `{event, schema, table, filter}`, in its own words. */
export type Wanted = Record<string, unknown>

interface Column {
  name: string
  type: string
  key: boolean
  readers: string[] | null
}

/** A client that follows a table's rows. */
export interface Following {
  /** The name by which the client knows it. */
  id: number
  channel: Channel
  wanted: Wanted
  filter: Term[] | null
  /** The tables it is about and their columns; empty until the database has agreed. */
  tables: Map<string, Column[]>
}

/** Rows as they change, on their way to whoever follows them and may see them. */
export interface Changes {
  /** Throws a Refusal for more than one person may follow. */
  prepare: (channel: Channel, wanted: Wanted[]) => Following[]
  /** Begins; answers with what to say where it cannot. */
  follow: (followings: Following[]) => Promise<string | null>
  forget: (channel: Channel) => void
  /** Word that a change has been committed. */
  notice: (id: string) => void
}

interface Change {
  id: number
  table_schema: string
  table_name: string
  verb: 'INSERT' | 'UPDATE' | 'DELETE'
  record: Record<string, unknown> | null
  old_record: Record<string, unknown> | null
  changed_at: string
}

const batch = 100
// Each one costs every change of its table a millisecond, whoever writes it.
const mostOfOnePerson = 300
// As many as are asked about in one statement, so that PGlite has time for others in between.
const mostAtOnce = 50

/** PGlite answers without ever leaving this process; others are to be heard in between. */
const letOthersIn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve))

const pick = (record: Record<string, unknown> | null, columns: Column[]) =>
  Object.fromEntries(columns.map(({ name }) => [name, record?.[name] ?? null]))

const bodyOf = (change: Change, all: Column[], { claims }: Identity) => {
  const columns = all.filter(({ readers }) => readers?.includes(claims.role))
  return {
    schema: change.table_schema,
    table: change.table_name,
    type: change.verb,
    commit_timestamp: new Date(change.changed_at).toISOString(),
    columns: columns.map(({ name, type }) => ({ name, type })),
    ...(change.verb !== 'DELETE' && { record: pick(change.record, columns) }),
    // Postgres keeps no more than the key of what a row was.
    ...(change.verb !== 'INSERT' && { old_record: pick(change.old_record, columns.filter(({ key }) => key)) }),
    errors: null,
  }
}

const refusal = ({ event, schema, table, filter }: Wanted): string =>
  `Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect parameters: [event: ${event}, schema: ${schema}, table: ${table}, filters: ${
    JSON.stringify(filter ?? [])
  }]`

let count = 0

/** `lost` is told when something cannot be read, and so cannot be delivered. */
export const openChanges = (database: Database, lost: () => void): Changes => {
  const followed = new Set<Following>()
  const followersOf = ({ table_schema, table_name }: Change): Following[] =>
    [...followed].filter(({ wanted, tables }) => wanted.schema === table_schema && tables.has(table_name))

  const read = async (ids: string[]): Promise<Change[]> => {
    const [row] = await database.query(
      `select coalesce(jsonb_agg(to_jsonb(change)), '[]') as changes
       from local_realtime.changes as change where id = any (($1::text)::bigint[])`,
      [`{${ids.join()}}`],
    )
    return row?.changes as Change[]
  }

  /** The followings of one table, each with the ids of the changes that it may see. */
  const audienceOf = async (changes: Change[], followings: Following[]): Promise<Map<Following, Set<number>>> => {
    const asks = followings.map(({ channel, filter }) => ({ claims: channel.identity.claims, filter }))
    const distinct = [...new Set(asks.map((ask) => JSON.stringify(ask)))]
    const { table_schema, table_name } = changes[0]!
    const seen: Set<number>[] = []
    while (seen.length < distinct.length) {
      if (seen.length > 0) await letOthersIn()
      const some = distinct.slice(seen.length, seen.length + mostAtOnce)
      const [row] = await database.query(
        'select local_realtime.audience($1, $2, ($3::text)::jsonb, ($4::text)::jsonb) as audience',
        [table_schema, table_name, JSON.stringify(changes.map(({ id }) => id)), `[${some.join()}]`],
      )
      for (const ids of row?.audience as number[][]) seen.push(new Set(ids))
    }
    return new Map(followings.map((one, index) => [one, seen[distinct.indexOf(JSON.stringify(asks[index]))]!]))
  }

  const deliver = async (ids: string[]): Promise<void> => {
    const found = await read(ids)
    expectAll(ids, found.length)
    for (const changes of Map.groupBy(found, (one) => `${one.table_schema}.${one.table_name}`).values()) {
      const { table_name } = changes[0]!
      const followers = followersOf(changes[0]!)
      if (followers.length === 0) continue
      const audience = await audienceOf(changes, followers)
      // In the order of the notifications, which is that of the commits.
      changes.sort((one, other) => ids.indexOf(`${one.id}`) - ids.indexOf(`${other.id}`))
      for (const change of changes) {
        const hearers = followers.filter((one) =>
          followed.has(one) && audience.get(one)!.has(change.id) &&
          ['*', change.verb].includes(String(one.wanted.event).toUpperCase())
        )
        for (const [channel, its] of Map.groupBy(hearers, (one) => one.channel)) {
          const data = bodyOf(change, its[0]!.tables.get(table_name)!, channel.identity)
          channel.push('postgres_changes', { ids: its.map(({ id }) => id), data })
        }
      }
    }
  }

  const queue = openQueue('Changes', batch, deliver, lost)

  return {
    prepare: (channel, wanted) => {
      const { role, sub } = channel.identity.claims
      const own = [...followed].filter(({ channel: { identity: { claims } } }) =>
        claims.role === role && claims.sub === sub
      )
      if (role !== 'service_role' && own.length + wanted.length > mostOfOnePerson) {
        throw new Refusal(`TooManyPostgresChanges: Nobody may name more than ${mostOfOnePerson} postgres_changes`)
      }
      const followings = wanted.map((one) => ({
        id: ++count,
        channel,
        wanted: one,
        filter: typeof one.filter === 'string' ? readFilter(one.filter) : [],
        tables: new Map(),
      }))
      // All of them before anything is waited for, so that whoever leaves meanwhile takes all of them along.
      for (const following of followings) followed.add(following)
      return followings
    },
    follow: async (followings) => {
      let refused: string | null = null
      for (const [index, following] of followings.entries()) {
        if (index % 20 === 19) await letOthersIn()
        const { wanted: { schema, table }, filter } = following
        const [row] = filter === null ? [] : await database.query(
          'select local_realtime.follow(($1::text)::jsonb) as tables',
          [JSON.stringify({ schema, table, filter })],
        )
        const tables = row?.tables as { table: string; columns: Column[] }[] | null | undefined
        if (!tables) followed.delete(following)
        following.tables = new Map(tables?.map(({ table, columns }) => [table, columns]))
        if (!tables) refused ??= refusal(following.wanted)
      }
      await settled(database)
      return refused
    },
    forget: (channel) => {
      for (const following of followed) {
        if (following.channel === channel) followed.delete(following)
      }
    },
    notice: (id) => {
      if (followed.size > 0) queue.add(id)
    },
  }
}
