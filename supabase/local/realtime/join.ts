import { type Channel, type Connection, requireRead } from './channel.ts'
import type { Authorize } from './authorization.ts'
import type { Hub } from './hub.ts'
import { type Identity, isUserToken, RealtimeError } from './identity.ts'
import type { Binding, PostgresChanges } from './postgres_changes.ts'
import type { Presence } from './presence.ts'
import { type Frame, isRecord } from './protocol.ts'

/** The parts of Realtime that channels use. */
export interface Services {
  hub: Hub
  presence: Presence
  postgresChanges: PostgresChanges
  authorize: Authorize
  /** How often permissions have changed: what was asked before the latest change must be asked again. */
  permissionChanges: () => number
  identify: (token: string) => Promise<Identity>
}

const isTrue = (value: unknown): boolean => value === true || value === 'true'
const record = (value: unknown): Record<string, unknown> => isRecord(value) ? value : {}

/** Opens the channel that a join asks for, with the permissions of its identity; throws a RealtimeError. */
export const openChannel = async (services: Services, connection: Connection, frame: Frame): Promise<Channel> => {
  const topic = frame.topic.replace(/^realtime:/, '')
  if (topic === frame.topic) throw new RealtimeError('unmatched topic')
  if (topic === '') throw new RealtimeError('TopicNameRequired: You must provide a topic name')
  const { config, access_token, user_token } = frame.payload
  const { broadcast, presence, private: isPrivate } = record(config)
  const { ack, self, replication_ready } = record(broadcast)
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
    wantsReady: isTrue(replication_ready),
    presenceCalls: { count: 0, until: 0 },
    push: (event, payload, ref = null) =>
      connection.send({ joinRef: frame.joinRef, ref, topic: frame.topic, event, payload }),
  }
}

const maxBindings = 100

/** The postgres_changes of a join. The database checks each binding, and each change is checked against all of them. */
export const bindingsOf = (frame: Frame): Binding[] => {
  const { postgres_changes } = record(frame.payload.config)
  if (!Array.isArray(postgres_changes)) return []
  if (postgres_changes.length > maxBindings) throw new RealtimeError('join crashed')
  return postgres_changes.filter(isRecord)
}
