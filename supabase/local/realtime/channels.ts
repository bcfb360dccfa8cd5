import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import { cannotRead, type Channel, type Connection, pushSystem, requireRead, watchExpiry } from './channel.ts'
import { isUserToken, RealtimeError } from './identity.ts'
import { bindingsOf, openChannel, type Services } from './join.ts'
import type { Subscription } from './postgres_changes.ts'
import { type Broadcast, type Frame, isRecord } from './protocol.ts'

// Presence of one client, as CLIENT_PRESENCE_MAX_CALLS and CLIENT_PRESENCE_WINDOW_MS of Supabase's Realtime
// (config/runtime.exs at v2.129.8).
export const presenceCalls = 5
export const presenceWindow = 30_000
const maxChannels = 100
const maxPendingFrames = 1000

/** What one connection joins and leaves, by the topic of its frames. */
const openMembers = (services: Services, connection: Connection) => {
  const { hub, presence, postgresChanges } = services
  const channels = new Map<string, Channel>()

  const reply = ({ joinRef, ref, topic }: Frame, status: 'ok' | 'error', response = {}) =>
    connection.send({ joinRef, ref, topic, event: 'phx_reply', payload: { status, response } })

  const leave = (channel: Channel): void => {
    clearTimeout(channel.expiryTimer)
    if (channels.get(channel.phxTopic) === channel) channels.delete(channel.phxTopic)
    hub.remove(channel)
    presence.untrack(channel)
    postgresChanges.unsubscribe(channel)
  }

  const close = (channel: Channel, message: string): void => {
    pushSystem(channel, 'system', 'error', message)
    channel.push('phx_close', {}, channel.joinRef)
    leave(channel)
  }

  const isMember = (channel: Channel): boolean => channels.get(channel.phxTopic) === channel

  const refreshPermissions = async (channel: Channel): Promise<void> => {
    const before = channel.permissions
    const permissions = await services.authorize(channel.topic, channel.identity)
    if (!isMember(channel)) return
    channel.permissions = permissions
    if (before.canRead.some((extension) => !permissions.canRead.includes(extension))) {
      close(channel, cannotRead(channel.topic))
    }
  }

  const renewToken = async (channel: Channel, token: unknown): Promise<void> => {
    if (!isUserToken(token) || token === channel.identity.token) return
    try {
      channel.identity = await services.identify(token)
    } catch (error) {
      return close(channel, error instanceof RealtimeError ? error.text : 'The token cannot be verified')
    }
    watchExpiry(channel, (message) => close(channel, message))
    await refreshPermissions(channel)
  }

  let joining = 0

  const subscribe = async (frame: Frame): Promise<void> => {
    if (channels.size + joining >= maxChannels) throw new RealtimeError('ChannelRateLimitReached: Too many channels')
    const bindings = bindingsOf(frame)
    const before = services.permissionChanges()
    joining++
    const channel = await openChannel(services, connection, frame).finally(() => joining--)
    if (!connection.isOpen()) return
    channels.set(channel.phxTopic, channel)
    channel.refreshPermissions = () => void refreshPermissions(channel)
    hub.add(channel)
    let subscriptions: Subscription[]
    try {
      if (services.permissionChanges() !== before) {
        channel.permissions = await services.authorize(channel.topic, channel.identity)
        requireRead(channel.topic, channel.permissions)
      }
      if (!isMember(channel)) return
      subscriptions = postgresChanges.prepare(channel, bindings)
    } catch (error) {
      leave(channel)
      throw error
    }
    watchExpiry(channel, (message) => close(channel, message))
    reply(frame, 'ok', { postgres_changes: subscriptions.map(({ id, binding }) => ({ ...binding, id })) })
    if (channel.presenceEnabled) channel.push('presence_state', presence.state(channel.topic))
    if (channel.wantsReady) pushSystem(channel, 'system', 'ok', 'Replication connection established')
    // A client that does not read what it is sent may have been disconnected by now.
    if (subscriptions.length === 0 || !isMember(channel)) return
    const rejected = await postgresChanges.subscribe(subscriptions)
    if (rejected === null) pushSystem(channel, 'postgres_changes', 'ok', 'Subscribed to PostgreSQL')
    else pushSystem(channel, 'postgres_changes', 'error', rejected)
  }

  const join = async (frame: Frame): Promise<void> => {
    const before = channels.get(frame.topic)
    if (before) leave(before)
    try {
      await subscribe(frame)
    } catch (error) {
      const isOurs = error instanceof RealtimeError
      if (!isOurs) log('error', 'Joining a topic failed', describeError(error))
      reply(frame, 'error', { reason: isOurs ? error.message : 'Unknown Error on Channel' })
    }
    before?.push('phx_close', {}, before.joinRef)
  }
  return { services, channels, reply, leave, close, renewToken, join }
}
type Members = ReturnType<typeof openMembers>

/** Counts a call of presence; returns whether there were too many. */
const exceedsPresence = ({ presenceCalls: calls }: Channel): boolean => {
  if (Date.now() > calls.until) Object.assign(calls, { count: 0, until: Date.now() + presenceWindow })
  return ++calls.count > presenceCalls
}

/** Handles a frame of a topic that is neither a join nor a leave. */
const handleFrame = async (
  { services: { hub, presence }, reply, close, renewToken }: Members,
  channel: Channel,
  frame: Frame,
): Promise<void> => {
  const { broadcast, access_token, event, payload } = frame.payload
  switch (frame.event) {
    case 'access_token':
      return await renewToken(channel, access_token)
    case 'broadcast':
      // As on the platform, a client that may not write gets no reply.
      if (!channel.permissions.canWrite.includes('broadcast')) return
      hub.broadcast(channel.topic, broadcast as Broadcast, (other) => other !== channel || channel.self)
      return channel.ack ? reply(frame, 'ok') : undefined
    case 'presence':
      if (exceedsPresence(channel)) return close(channel, 'Client presence rate limit exceeded')
      if (!channel.permissions.canWrite.includes('presence')) return reply(frame, 'error')
      if (event === 'track') presence.track(channel, isRecord(payload) ? payload : {})
      else if (event === 'untrack') presence.untrack(channel)
      return reply(frame, 'ok')
  }
}

/** The channels of one connection. Frames of the same topic are handled in order. */
export const openChannels = (services: Services, connection: Connection, onOverflow: () => void) => {
  const members = openMembers(services, connection)
  const { channels, reply, leave, join } = members
  const queues = new Map<string, Promise<void>>()
  let pendingFrames = 0

  const handle = async (frame: Frame): Promise<void> => {
    if (frame.event === 'phx_join') return await join(frame)
    const channel = channels.get(frame.topic)
    if (frame.event === 'phx_leave') {
      reply(frame, 'ok')
      if (!channel) return
      channel.push('phx_close', {}, channel.joinRef)
      return leave(channel)
    }
    if (!channel) return reply(frame, 'error', { reason: 'unmatched topic' })
    // The frame belongs to an earlier join of the topic.
    if (frame.joinRef !== null && frame.joinRef !== channel.joinRef) return
    return await handleFrame(members, channel, frame)
  }

  const enqueue = (frame: Frame): void => {
    const handled = (queues.get(frame.topic) ?? Promise.resolve())
      .then(() => connection.isOpen() ? handle(frame) : undefined)
      .catch((error) => log('error', 'Handling a frame failed', describeError(error)))
      .finally(() => {
        pendingFrames--
        if (queues.get(frame.topic) === handled) queues.delete(frame.topic)
      })
    queues.set(frame.topic, handled)
  }

  return {
    receive: (frame: Frame): void => {
      if (frame.topic === 'phoenix') return frame.event === 'heartbeat' ? reply(frame, 'ok') : undefined
      if (++pendingFrames > maxPendingFrames) return onOverflow()
      enqueue(frame)
    },
    leaveAll: (): void => [...channels.values()].forEach(leave),
  }
}
