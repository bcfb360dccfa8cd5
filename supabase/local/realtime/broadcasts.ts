import type { Database } from '../database.ts'
import type { Hub } from './hub.ts'
import type { Announcement } from './protocol.ts'
import { expectAll, openQueue } from './queue.ts'
import { settled } from './settled.ts'

/** What the database broadcasts, on its way to whoever is on the topic. */
export interface Broadcasts {
  /** Sees to it that the database says what it broadcasts, from now on; for whoever is on the hub already. */
  attend: () => Promise<void>
  /** No longer relies on that: the database may have forgotten. */
  rest: () => void
  /** Word that the database has committed a broadcast. */
  notice: (id: string, topic: string) => void
  /** The newest of what was broadcast on a topic since then, oldest first. */
  replay: (topic: string, since: number, limit: number) => Promise<Announcement[]>
}

const batch = 200

const announcementOf = (row: Record<string, unknown>, replayed?: true): Announcement => ({
  event: String(row.event),
  payload: row.bytes === null ? String(row.payload ?? '{}') : Uint8Array.fromBase64(String(row.bytes)),
  meta: { id: row.id, ...(replayed && { replayed }) },
})

const columns =
  `id::text, topic, event, payload::text, translate(encode(binary_payload, 'base64'), E'\\n', '') as bytes`

/** `lost` is told when something cannot be read, and so cannot be delivered. */
export const openBroadcasts = (database: Database, hub: Hub, lost: () => void): Broadcasts => {
  let attending: Promise<void> | null = null

  const begin = async (): Promise<void> => {
    await database.query(
      `insert into local_realtime.followed values ('realtime', 'messages') on conflict do nothing`,
      [],
    )
    await settled(database)
  }

  const rest = (): void => {
    attending = null
  }

  const deliver = async (ids: string[]): Promise<void> => {
    const rows = await database.query(
      `select ${columns}, private from realtime.messages where id = any (($1::text)::uuid[])`,
      [`{${ids.join()}}`],
    )
    expectAll(ids, rows.length)
    const found = new Map(rows.map((row) => [row.id, row]))
    // In the order of the notifications, which is that of the commits.
    for (const id of ids) {
      const row = found.get(id)
      if (row?.private) hub.announce(String(row.topic), announcementOf(row), (channel) => !channel.replayed.has(id))
    }
  }

  const queue = openQueue('Broadcasts', batch, deliver, lost)

  return {
    attend: () =>
      attending ??= begin().catch((error) => {
        attending = null
        throw error
      }),
    rest,
    notice: (id, topic) => {
      if (hub.isEmpty()) return
      // A topic of 500 characters may have been cut, so it is read to be sure.
      if (topic.length < 500 && hub.on(topic).size === 0) return
      queue.add(id)
    },
    replay: async (topic, since, limit) => {
      const rows = await database.query(
        `select ${columns}
         from realtime.messages
         where topic = $1
           and private
           and extension = 'broadcast'
           and event is not null
           and inserted_at >= to_timestamp($2::float8 / 1000) at time zone current_setting('timezone')
         order by inserted_at desc
         limit $3`,
        [topic, since, limit],
      )
      return rows.reverse().map((row) => announcementOf(row, true))
    },
  }
}
