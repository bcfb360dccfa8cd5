import type { RealtimeChannel, RealtimeClientOptions } from '@supabase/supabase-js'
import { backoff } from './retry_loop.ts'
import { createTimer } from './timers.ts'
import type { EventPayload, Realtime } from './types.ts'

// Longer than supabase-js's join timeout and its longest pause between two attempts, and short enough for a waiting
// user. Jittered, so that clients that were disconnected together do not join in lockstep.
const joinTimeout = ({ timeout }: Realtime) => timeout + 14_000 + Math.random() * 6_000
// After being joined this long, a channel starts again with the shortest backoff.
const stableAfter = 60_000
// Before it refuses a join, Realtime holds up everything else on the connection for five seconds.
const refusalPause = () => 180_000 + Math.random() * 120_000
// Joins wait for each other, so of twelve that are refused the last is answered after a minute. One whose time is up
// before that is asked again, and each such question holds up the others anew.
const refusedJoins = 60_000

/** A connection for channels that may be refused, with the same server and user. It is open while it has a channel. */
export const openConnection = (realtime: Realtime): Realtime => {
  const { apiKey, accessToken, transport, heartbeatIntervalMs, reconnectAfterMs, vsn, worker, workerUrl } = realtime
  // Not imported, so that it is the caller's version of supabase-js.
  const Connection = realtime.constructor as new (endPoint: string, options: RealtimeClientOptions) => Realtime
  return new Connection(realtime.endPoint.replace(/\/websocket$/, ''), {
    params: { apikey: apiKey },
    accessToken: accessToken ?? undefined,
    timeout: refusedJoins,
    ...{ transport, heartbeatIntervalMs, reconnectAfterMs, vsn, worker, workerUrl },
    // One that is not open yet is ended then; see disconnectIfUnused.
    disconnectOnEmptyChannelsAfterMs: 1000,
  })
}

/**
 * supabase-js would keep the connection, and with it a process of Node, for 50 seconds after the last channel. One that
 * is not open yet is left to it, because a browser logs an error when such a connection is closed.
 */
const disconnectIfUnused = async (realtime: Realtime): Promise<void> => {
  if (realtime.getChannels().length || realtime.isConnecting()) return
  await realtime.disconnect()
  // While it disconnects, supabase-js does not connect for a channel that is joined.
  if (realtime.getChannels().length) realtime.connect()
}

/** What an event does. That of typing has a `user_id` alone, and is the other participant's. */
export type Handlers = Record<string, (payload: EventPayload) => void>

/**
 * A private channel that is joined again after any error or close, until `close()`.
 * Calls `onChange` on each join, the first and later ones, and on each error. supabase-js rejoins by itself after a
 * lost connection. It does not after CLOSED, with which the server ends a channel when its token expires or a limit is
 * exceeded. Such a channel is recreated here, and so is one that does not join in time. Calls `onReady` when Realtime
 * passes on what the database sends; when it begins to serve a project, that is after the join. Where a user may not
 * join, supabase-js tries again every few seconds; with `pauseAfterRefusal` that is after minutes only.
 */
export const openPersistentChannel = (
  realtime: Realtime,
  topic: string,
  handlers: Handlers,
  onChange: (joined: boolean, error: string | null) => void,
  { onReady, pauseAfterRefusal = false }: { onReady?: () => void; pauseAfterRefusal?: boolean },
) => {
  let channel: RealtimeChannel | null = null
  let isJoined = false
  let joinedAt = 0
  let failures = 0
  let attempts = 0
  let isRefused = false
  const timer = createTimer(() => join())

  const setJoined = (joined: boolean, error: string | null = null) => {
    isJoined = joined
    onChange(joined, error)
  }
  // A failed refresh is not fatal: the join is then refused and retried.
  const setAuth = () => realtime.setAuth().catch(() => {})
  const remove = (removed: RealtimeChannel) => realtime.removeChannel(removed).catch(() => {})

  const onStatus = (current: RealtimeChannel, status: string, error?: Error) => {
    if (channel !== current) return
    if (status === 'SUBSCRIBED') {
      timer.cancel()
      joinedAt = Date.now()
      return setJoined(true)
    }
    if (isJoined && Date.now() - joinedAt > stableAfter) failures = 0
    if (status === 'CLOSED') {
      channel = null
      timer.start(backoff(failures++))
    } else if (pauseAfterRefusal && error?.message.startsWith('Unauthorized')) {
      channel = null
      isRefused = true
      timer.start(refusalPause())
      remove(current).then(() => disconnectIfUnused(realtime)).catch(() => {})
    } else {
      // supabase-js retries by itself, with the token that it has then.
      setAuth()
      if (isJoined || !timer.isWaiting()) timer.start(joinTimeout(realtime))
    }
    setJoined(false, error?.message ?? status)
  }

  const join = async (): Promise<void> => {
    const attempt = ++attempts
    channel = null
    isRefused = false
    if (isJoined) setJoined(false)
    timer.start(joinTimeout(realtime))
    // supabase-js keeps one channel per topic and would return the old one until it is removed.
    const previous = realtime.getChannels().find((existing) => existing.topic === `realtime:${topic}`)
    if (previous) await remove(previous)
    // Otherwise the first join of a new client carries no token and is refused.
    await setAuth()
    if (attempt !== attempts) return
    const broadcast = onReady && { replication_ready: true }
    const current = channel = realtime.channel(topic, { config: { private: true, ...(broadcast && { broadcast }) } })
    current.on('system', {}, ({ extension, status }) => {
      if (channel === current && extension === 'system' && status === 'ok') onReady?.()
    })
    for (const [event, handle] of Object.entries(handlers)) {
      current.on('broadcast', { event }, ({ payload }) => channel === current && handle(payload))
    }
    current.subscribe((status, error) => onStatus(current, status, error))
  }

  join()
  return {
    /** Broadcasts to the other subscribers. False if the channel is not joined: then the event is dropped. */
    send(event: string, payload: Record<string, unknown>): boolean {
      // When not joined, supabase-js falls back to an HTTP POST, which would arrive too late to matter.
      if (!isJoined || !channel || !realtime.isConnected()) return false
      channel.send({ type: 'broadcast', event, payload }).catch(() => {})
      return true
    },
    /** Starts a new join at once if the channel is not joined and was not refused of late. */
    rejoin: () => isJoined || isRefused || join(),
    /** Joins again although it was refused, because the reason must have gone. */
    retryRefused: () => isRefused && join(),
    close() {
      attempts++
      timer.cancel()
      const last = channel
      channel = null
      if (last) remove(last).then(() => disconnectIfUnused(realtime)).catch(() => {})
    },
  }
}
export type PersistentChannel = ReturnType<typeof openPersistentChannel>
