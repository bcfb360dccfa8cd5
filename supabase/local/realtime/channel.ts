import type { Permissions } from './authorization.ts'
import { expiredMessage, type Identity, RealtimeError } from './identity.ts'
import type { Frame, Version } from './protocol.ts'

export interface Connection {
  version: Version
  /** The identity of the key that opened the connection. */
  identity: Identity
  send: (frame: Frame) => void
  write: (data: string) => void
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
  /** broadcast.self, .ack and .replication_ready of the join's config. */
  self: boolean
  ack: boolean
  wantsReady: boolean
  push: (event: string, payload: Record<string, unknown>, ref?: string | null) => void
  /** The calls of presence in the window that ends then. */
  presenceCalls: { count: number; until: number }
  /** Authorizes again, and closes the channel if it may no longer read. */
  refreshPermissions?: () => void
  expiryTimer?: ReturnType<typeof setTimeout>
}

export const cannotRead = (topic: string): string =>
  `You do not have permissions to read from this Channel topic: ${topic}`

export const requireRead = (topic: string, { canRead }: Permissions): void => {
  if (canRead.length === 0) throw new RealtimeError(`Unauthorized: ${cannotRead(topic)}`)
}

export const pushSystem = (channel: Channel, extension: string, status: 'ok' | 'error', message: string): void =>
  channel.push('system', { extension, status, message, channel: channel.topic })

// setTimeout waits 25 days at most; a longer timer is set again.
const maxTimeout = 2 ** 31 - 1

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
