import type { Permissions } from './authorization.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { Hub } from './hub.ts'
import { expiredMessage, type Identity, isUserToken, RealtimeError } from './identity.ts'
import type { Binding, PostgresChanges } from './postgres_changes.ts'
import type { Presence } from './presence.ts'
import { type Broadcast, type Frame, isRecord, type Version } from './protocol.ts'

/** The parts of Realtime that channels use. */
export interface Services {
  hub: Hub
  presence: Presence
  broadcasts: Broadcasts
  postgresChanges: PostgresChanges
  authorize: (topic: string, identity: Identity) => Promise<Permissions>
  /** Counts changes of permissions on any topic: a join that sees the count change authorizes again. */
  permissionChanges: { count: number }
  identify: (token: string) => Promise<Identity>
}

export interface Connection {
  version: Version
  /** The identity of the key that opened the connection. */
  identity: Identity
  send: (frame: Frame) => void
  write: (data: string | Uint8Array<ArrayBuffer>) => void
  isOpen: () => boolean
}

/** One connection's membership in a topic. */
export interface Channel {
  connection: Connection
  /** The topic in frames: `realtime:` and the topic. */
  phxTopic: string
  topic: string
  joinRef: string | null
  identity: Identity
  permissions: Permissions
  presenceEnabled: boolean
  presenceKey: string
  /** broadcast.self and broadcast.ack of the join's config. */
  self: boolean
  ack: boolean
  /** Ids of the broadcasts that were replayed at the join and must not be sent again. */
  replayed: Set<string>
  push: (event: string, payload: Record<string, unknown>, ref?: string | null) => void
  /** Authorizes again, and closes the channel if it may no longer read. */
  refreshPermissions?: () => void
  expiryTimer?: ReturnType<typeof setTimeout>
}

const isTrue = (value: unknown): boolean => value === true || value === 'true'
const record = (value: unknown): Record<string, unknown> => isRecord(value) ? value : {}

// setTimeout waits 25 days at most; a longer timer is set again.
const maxTimeout = 2 ** 31 - 1

export const requireRead = (topic: string, { canRead }: Permissions): void => {
  if (canRead.length > 0) return
  throw new RealtimeError(`Unauthorized: You do not have permissions to read from this Channel topic: ${topic}`)
}

/** Opens the channel that a join asks for, with the permissions of its identity; throws a RealtimeError. */
export const openChannel = async (services: Services, connection: Connection, frame: Frame): Promise<Channel> => {
  const topic = frame.topic.replace(/^realtime:/, '')
  if (topic === frame.topic) throw new RealtimeError('unmatched topic')
  if (topic === '') throw new RealtimeError('TopicNameRequired: You must provide a topic name')
  const { config, access_token, user_token } = frame.payload
  const { broadcast, presence, private: isPrivate } = record(config)
  const { ack, self } = record(broadcast)
  const { enabled, key } = record(presence)

  // As on the platform with "Allow public access" off.
  if (!isTrue(isPrivate)) throw new RealtimeError('PrivateOnly: This project only allows private channels')

  const token = [user_token, access_token].find(isUserToken)
  const identity = token ? await services.identify(token) : connection.identity
  const permissions = await services.authorize(topic, identity)
  requireRead(topic, permissions)
  return {
    connection,
    phxTopic: frame.topic,
    topic,
    joinRef: frame.joinRef,
    identity,
    permissions,
    presenceEnabled: isTrue(enabled) && permissions.canRead.includes('presence'),
    presenceKey: key === undefined || key === null || key === '' ? crypto.randomUUID() : String(key),
    self: isTrue(self),
    ack: isTrue(ack),
    replayed: new Set(),
    push: (event, payload, ref = null) =>
      connection.send({ joinRef: frame.joinRef, ref, topic: frame.topic, event, payload }),
  }
}

const maxBindings = 100

/** The postgres_changes of a join. The database checks each binding, and each change is checked against all of them. */
export const bindingsOf = (frame: Frame): Binding[] => {
  const { postgres_changes } = record(frame.payload.config)
  if (!Array.isArray(postgres_changes)) return []
  if (postgres_changes.length > maxBindings) {
    throw new RealtimeError(`TooManyPostgresChanges: A join may name at most ${maxBindings} postgres_changes`)
  }
  return postgres_changes.filter(isRecord)
}

/** broadcast.replay of a join: `{since, limit}`, or null. */
export const replayOf = (frame: Frame): { since: number; limit: number } | null => {
  const { replay } = record(record(frame.payload.config).broadcast)
  if (!replay) return null
  const { since, limit = 25 } = record(replay)
  if (!Number.isFinite(since) || !Number.isInteger(limit)) {
    throw new RealtimeError('UnableToReplayMessages: Replay params are not valid')
  }
  return { since: since as number, limit: Math.min(25, Math.max(1, limit as number)) }
}

export const wantsReplicationReady = (frame: Frame): boolean =>
  isTrue(record(record(frame.payload.config).broadcast).replication_ready)

export const pushSystem = (channel: Channel, extension: string, status: 'ok' | 'error', message: string): void =>
  channel.push('system', { extension, status, message, channel: channel.topic })

/** Calls `close` with a message when the channel's token expires. */
export const watchExpiry = (channel: Channel, close: (message: string) => void): void => {
  clearTimeout(channel.expiryTimer)
  const { expiresAt } = channel.identity
  if (expiresAt === null) return
  const wait = expiresAt * 1000 - Date.now()
  channel.expiryTimer = setTimeout(
    () => wait > maxTimeout ? watchExpiry(channel, close) : close(expiredMessage(expiresAt)),
    Math.min(Math.max(wait, 0), maxTimeout),
  )
}

/** Relays a client's broadcast to the other subscribers of its topic; returns false if the client may not write. */
export const relayBroadcast = ({ hub }: Services, channel: Channel, broadcast: Broadcast): boolean => {
  if (!channel.permissions.canWrite.includes('broadcast')) return false
  hub.broadcast(channel.topic, broadcast, (other) => other !== channel || channel.self)
  return true
}
