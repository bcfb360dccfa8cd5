import { log } from '../../../functions/_shared/log.ts'
import { describeError } from '../../../functions/_shared/errors.ts'
import { createMutex } from '../mutex.ts'
import type { Following } from './changes.ts'
import {
  type Channel,
  type Connection,
  openChannel,
  replayOf,
  requireReading,
  type Services,
  speak,
  tellSystem,
  wantedOf,
  wantsReplicationReady,
  watchExpiry,
} from './channel.ts'
import { isPersonal, Refusal } from './identity.ts'
import { type Announcement, type Frame, isRecord } from './protocol.ts'

const mostChannels = 100
const mostWaiting = 1000

/** The channels of one connection: takes its frames, those of one topic in order. */
export const openChannels = (services: Services, connection: Connection, overrun: () => void) => {
  const { hub, presence, changes, broadcasts } = services
  const channels = new Map<string, Channel>()
  const queues = new Map<string, Promise<void>>()
  // One of its joins asks the database at a time: of 9000 at once, on ten connections, everybody else waited for 4 s.
  const oneByOne = createMutex()
  let joining = 0
  let waiting = 0

  const reply = ({ joinRef, ref, topic }: Frame, status: 'ok' | 'error', response: Record<string, unknown> = {}) =>
    connection.send({ joinRef, ref, topic, event: 'phx_reply', payload: { status, response } })

  const part = (channel: Channel): void => {
    clearTimeout(channel.expiry)
    if (channels.get(channel.name) === channel) channels.delete(channel.name)
    hub.remove(channel)
    presence.untrack(channel)
    changes.forget(channel)
  }

  const end = (channel: Channel, message: string): void => {
    tellSystem(channel, 'system', 'error', message)
    channel.push('phx_close', {}, channel.joinRef)
    part(channel)
  }

  const refresh = async (channel: Channel): Promise<void> => {
    const before = channel.rights
    const rights = await services.rights(channel.topic, channel.identity)
    // It may have left meanwhile.
    if (channels.get(channel.name) !== channel) return
    channel.rights = rights
    if (before.hears.some((way) => !rights.hears.includes(way))) {
      end(channel, `You no longer have permission to read from this Channel topic: ${channel.topic}`)
    }
  }

  const admit = async (frame: Frame): Promise<void> => {
    if (channels.size + joining >= mostChannels) {
      throw new Refusal('ChannelRateLimitReached: Too many channels')
    }
    const wanted = wantedOf(frame)
    joining++
    const { count } = services.changesOfRights
    let channel: Channel
    let missed: Announcement[] = []
    try {
      channel = await oneByOne(async () => {
        // PGlite answers without ever leaving this process; others are to be heard in between.
        await new Promise((resolve) => setTimeout(resolve))
        return await openChannel(services, connection, frame)
      })
      const replay = replayOf(frame)
      if (replay) missed = await broadcasts.replay(channel.topic, replay.since, replay.limit)
    } finally {
      joining--
    }
    if (!connection.isOpen()) return
    channels.set(channel.name, channel)
    channel.askAgain = () => void refresh(channel)
    hub.add(channel)
    let followings: Following[]
    try {
      await broadcasts.attend()
      if (services.changesOfRights.count !== count) {
        channel.rights = await services.rights(channel.topic, channel.identity)
        requireReading(channel.topic, channel.rights)
      }
      if (channels.get(channel.name) !== channel) return
      followings = changes.prepare(channel, wanted)
    } catch (error) {
      part(channel)
      throw error
    }
    watchExpiry(channel, (message) => end(channel, message))
    reply(frame, 'ok', { postgres_changes: followings.map(({ id, wanted }) => ({ ...wanted, id })) })
    for (const { event, payload, meta } of missed) {
      channel.replayed.add(String(meta?.id))
      if (typeof payload === 'string') {
        channel.push('broadcast', { type: 'broadcast', event, payload: JSON.parse(payload), meta })
      }
    }
    if (channel.isPresent) channel.push('presence_state', presence.state(channel.topic))
    if (wantsReplicationReady(frame)) tellSystem(channel, 'system', 'ok', 'Replication connection established')
    // Whoever does not read what they are sent may have been hung up on by now.
    if (followings.length === 0 || channels.get(channel.name) !== channel) return
    const refused = await changes.follow(followings)
    if (refused === null) tellSystem(channel, 'postgres_changes', 'ok', 'Subscribed to PostgreSQL')
    else tellSystem(channel, 'postgres_changes', 'error', refused)
  }

  const join = async (frame: Frame): Promise<void> => {
    const before = channels.get(frame.topic)
    if (before) {
      before.push('phx_close', {}, before.joinRef)
      part(before)
    }
    try {
      await admit(frame)
    } catch (error) {
      if (!(error instanceof Refusal)) {
        log('error', 'Joining a topic failed', describeError(error))
      }
      reply(frame, 'error', { reason: error instanceof Refusal ? error.message : 'Unknown Error on Channel' })
    }
  }

  const renew = async (channel: Channel, token: unknown): Promise<void> => {
    if (!isPersonal(token) || token === channel.identity.token) return
    try {
      channel.identity = await services.identify(token)
    } catch (error) {
      return end(
        channel,
        error instanceof Refusal ? error.words : 'The token cannot be verified',
      )
    }
    watchExpiry(channel, (message) => end(channel, message))
    await refresh(channel)
  }

  const handle = async (frame: Frame): Promise<void> => {
    if (frame.event === 'phx_join') return await join(frame)
    const channel = channels.get(frame.topic)
    if (frame.event === 'phx_leave') {
      reply(frame, 'ok')
      if (!channel) return
      channel.push('phx_close', {}, channel.joinRef)
      return part(channel)
    }
    if (!channel) return reply(frame, 'error', { reason: 'unmatched topic' })
    // A frame of an earlier join of the same topic is about nothing any more.
    if (frame.joinRef !== null && frame.joinRef !== channel.joinRef) return
    const { announcement, access_token, event, payload } = frame.payload
    switch (frame.event) {
      case 'access_token':
        return await renew(channel, access_token)
      case 'broadcast':
        // Whoever may not speak gets no answer, as on the platform.
        if (speak(services, channel, announcement as Announcement) && channel.wantsReceipts) reply(frame, 'ok')
        return
      case 'presence':
        if (!channel.rights.speaks.includes('presence')) return reply(frame, 'error')
        if (event === 'track') presence.track(channel, isRecord(payload) ? payload : {})
        else if (event === 'untrack') presence.untrack(channel)
        return reply(frame, 'ok')
    }
  }

  return {
    receive: (frame: Frame): void => {
      if (frame.topic === 'phoenix') return frame.event === 'heartbeat' ? reply(frame, 'ok') : undefined
      if (++waiting > mostWaiting) return overrun()
      const turn = (queues.get(frame.topic) ?? Promise.resolve())
        .then(() => connection.isOpen() ? handle(frame) : undefined)
        .catch((error) => log('error', 'A frame failed', describeError(error)))
        .finally(() => {
          waiting--
          if (queues.get(frame.topic) === turn) queues.delete(frame.topic)
        })
      queues.set(frame.topic, turn)
    },
    leave: (): void => [...channels.values()].forEach(part),
  }
}
