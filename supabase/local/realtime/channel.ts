import type { Broadcasts } from './broadcasts.ts'
import type { Changes, Wanted } from './changes.ts'
import type { Hub } from './hub.ts'
import { expired, type Identity, isPersonal, Refusal } from './identity.ts'
import type { Presence } from './presence.ts'
import { type Announcement, type Frame, isRecord, type Version } from './protocol.ts'
import type { Rights } from './rights.ts'

/** What channels need of the rest of Realtime. */
export interface Services {
  hub: Hub
  presence: Presence
  broadcasts: Broadcasts
  changes: Changes
  rights: (topic: string, identity: Identity) => Promise<Rights>
  /** How many times rights changed of somebody who may be on a topic: whoever joins meanwhile is asked for once more. */
  changesOfRights: { count: number }
  identify: (token: string) => Promise<Identity>
}

export interface Connection {
  version: Version
  /** Who the key that it was opened with belongs to. */
  identity: Identity
  send: (frame: Frame) => void
  write: (data: string | Uint8Array<ArrayBuffer>) => void
  isOpen: () => boolean
}

/** Somebody on a topic. */
export interface Channel {
  connection: Connection
  /** The topic as clients name it on the wire, `realtime:` before it. */
  name: string
  topic: string
  joinRef: string | null
  identity: Identity
  rights: Rights
  /** Whether it is told who is there. */
  isPresent: boolean
  presenceKey: string
  hearsItself: boolean
  wantsReceipts: boolean
  /** Messages it got when it joined, which need not come again. */
  replayed: Set<string>
  push: (event: string, payload: Record<string, unknown>, ref?: string | null) => void
  /** Asks for its rights again, and ends it where it may no longer read. */
  askAgain?: () => void
  expiry?: ReturnType<typeof setTimeout>
}

const isOn = (value: unknown): boolean => value === true || value === 'true'
const record = (value: unknown): Record<string, unknown> => isRecord(value) ? value : {}

// Longer than setTimeout can wait is a month away; the timer then asks again.
const longestWait = 2 ** 31 - 1

export const requireReading = (topic: string, { hears }: Rights): void => {
  if (hears.length > 0) return
  throw new Refusal(`Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`)
}

/** Makes a channel of what somebody asked for when joining, with the rights that they turn out to have; throws a Refusal. */
export const openChannel = async (services: Services, connection: Connection, frame: Frame): Promise<Channel> => {
  const topic = frame.topic.replace(/^realtime:/, '')
  if (topic === frame.topic) throw new Refusal('unmatched topic')
  if (topic === '') throw new Refusal('TopicNameRequired: You must provide a topic name')
  const { config, access_token, user_token } = frame.payload
  const { broadcast, presence, private: asksPrivacy } = record(config)
  const { ack, self } = record(broadcast)
  const { enabled, key } = record(presence)

  // As on the platform with "Allow public access" off, whatever else is asked for.
  if (!isOn(asksPrivacy)) throw new Refusal('PrivateOnly: This project only allows private channels')

  const token = [user_token, access_token].find(isPersonal)
  const identity = token ? await services.identify(token) : connection.identity
  const rights = await services.rights(topic, identity)
  requireReading(topic, rights)
  return {
    connection,
    name: frame.topic,
    topic,
    joinRef: frame.joinRef,
    identity,
    rights,
    isPresent: isOn(enabled) && rights.hears.includes('presence'),
    presenceKey: key === undefined || key === null || key === '' ? crypto.randomUUID() : String(key),
    hearsItself: isOn(self),
    wantsReceipts: isOn(ack),
    replayed: new Set(),
    push: (event, payload, ref = null) =>
      connection.send({ joinRef: frame.joinRef, ref, topic: frame.topic, event, payload }),
  }
}

const mostWanted = 100

/** Which rows a join asks to follow. Each is asked of the database by itself, and each change is checked against all of them. */
export const wantedOf = (frame: Frame): Wanted[] => {
  const { postgres_changes } = record(frame.payload.config)
  if (!Array.isArray(postgres_changes)) return []
  if (postgres_changes.length > mostWanted) {
    throw new Refusal(`TooManyPostgresChanges: A join may name at most ${mostWanted} postgres_changes`)
  }
  return postgres_changes.filter(isRecord)
}

/** What happened before: `{since, limit}` of the join, or nothing. */
export const replayOf = (frame: Frame): { since: number; limit: number } | null => {
  const { replay } = record(record(frame.payload.config).broadcast)
  if (!replay) return null
  const { since, limit = 25 } = record(replay)
  if (!Number.isFinite(since) || !Number.isInteger(limit)) {
    throw new Refusal('UnableToReplayMessages: Replay params are not valid')
  }
  return { since: since as number, limit: Math.min(25, Math.max(1, limit as number)) }
}

export const wantsReplicationReady = (frame: Frame): boolean =>
  isOn(record(record(frame.payload.config).broadcast).replication_ready)

export const tellSystem = (channel: Channel, extension: string, status: 'ok' | 'error', message: string): void =>
  channel.push('system', { extension, status, message, channel: channel.topic })

/** Calls `end` when the token of the channel is out of date, with what to say. */
export const watchExpiry = (channel: Channel, end: (message: string) => void): void => {
  clearTimeout(channel.expiry)
  const { expiresAt } = channel.identity
  if (expiresAt === null) return
  const wait = expiresAt * 1000 - Date.now()
  channel.expiry = setTimeout(
    () => wait > longestWait ? watchExpiry(channel, end) : end(expired(expiresAt)),
    Math.min(Math.max(wait, 0), longestWait),
  )
}

/** Passes a client's broadcast on to the others on its topic; whether it may. */
export const speak = ({ hub }: Services, channel: Channel, announcement: Announcement): boolean => {
  if (!channel.rights.speaks.includes('broadcast')) return false
  hub.announce(channel.topic, announcement, (other) => other !== channel || channel.hearsItself)
  return true
}
