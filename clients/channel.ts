import type { RealtimeChannel } from '@supabase/supabase-js'
import { backoff } from './retry_loop.ts'
import type { Client } from './types.ts'

/** A private channel that is joined again after any error or close, until `close()`. */
export interface PersistentChannel {
  /** Broadcasts to the other subscribers. An event that cannot be sent now is dropped. */
  send(event: string, payload: Record<string, unknown>): void
  /** Starts a new join at once if the channel is not joined. */
  rejoin(): void
  close(): void
}

// Longer than supabase-js's join timeout and its longest pause between two attempts, and short enough for a waiting
// user. Jittered, so that clients that were disconnected together do not join in lockstep.
const joinTimeout = () => 24_000 + Math.random() * 6_000
// After being joined this long, a channel starts again with the shortest backoff.
const stableAfter = 60_000

/**
 * supabase-js would keep the connection, and with it a process of Node, for 50 seconds after the last channel. One that
 * is not open yet is left to it, because a browser logs an error when such a connection is closed.
 */
const disconnectIfUnused = async (supabase: Client): Promise<void> => {
  if (supabase.getChannels().length || supabase.realtime.isConnecting()) return
  await supabase.realtime.disconnect()
  // While it disconnects, supabase-js does not connect for a channel that is joined.
  if (supabase.getChannels().length) supabase.realtime.connect()
}

/**
 * Calls `onChange` on each join, the first and later ones, and on each error. supabase-js rejoins by itself after a
 * lost connection. It does not after CLOSED, with which the server ends a channel when its token expires or a limit is
 * exceeded. Such a channel is recreated here, and so is one that does not join in time.
 */
export const openPersistentChannel = (
  supabase: Client,
  topic: string,
  handlers: Record<string, (payload: unknown) => void>,
  onChange: (joined: boolean, error: string | null) => void,
): PersistentChannel => {
  let channel: RealtimeChannel | null = null
  let isJoined = false
  let joinedAt = 0
  let failures = 0
  let attempts = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const joinIn = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(join, milliseconds)
  }
  const setJoined = (joined: boolean, error: string | null = null) => {
    isJoined = joined
    onChange(joined, error)
  }
  // A failed refresh is not fatal: the join is then refused and retried.
  const setAuth = () => supabase.realtime.setAuth().catch(() => {})

  const onStatus = (current: RealtimeChannel, status: string, error?: Error) => {
    if (channel !== current) return
    if (status === 'SUBSCRIBED') {
      clearTimeout(timer)
      timer = undefined
      joinedAt = Date.now()
      return setJoined(true)
    }
    if (isJoined && Date.now() - joinedAt > stableAfter) failures = 0
    if (status === 'CLOSED') {
      channel = null
      joinIn(backoff(failures++))
    } else {
      // supabase-js retries by itself, with the token that it has then.
      setAuth()
      if (isJoined || timer === undefined) joinIn(joinTimeout())
    }
    setJoined(false, error?.message ?? status)
  }

  const join = async (): Promise<void> => {
    const attempt = ++attempts
    channel = null
    if (isJoined) setJoined(false)
    joinIn(joinTimeout())
    // supabase-js keeps one channel per topic and would return the old one until it is removed.
    const previous = supabase.getChannels().find((existing) => existing.topic === `realtime:${topic}`)
    if (previous) await supabase.removeChannel(previous).catch(() => {})
    // Otherwise the first join of a new client carries no token and is refused.
    await setAuth()
    if (attempt !== attempts) return
    const current = supabase.channel(topic, { config: { private: true } })
    channel = current
    for (const [event, handle] of Object.entries(handlers)) {
      current.on('broadcast', { event }, ({ payload }) => {
        if (channel === current) handle(payload)
      })
    }
    current.subscribe((status, error) => onStatus(current, status, error))
  }

  join()
  return {
    send(event, payload) {
      // When not joined, supabase-js falls back to an HTTP POST, which would arrive too late to matter.
      if (isJoined) channel?.send({ type: 'broadcast', event, payload }).catch(() => {})
    },
    rejoin() {
      if (!isJoined) join()
    },
    close() {
      attempts++
      clearTimeout(timer)
      const last = channel
      channel = null
      if (last) supabase.removeChannel(last).then(() => disconnectIfUnused(supabase)).catch(() => {})
    },
  }
}
