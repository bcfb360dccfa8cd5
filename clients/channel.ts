import type { RealtimeChannel } from '@supabase/supabase-js'
import { backoff } from './problem.ts'
import type { Client } from './shapes.ts'

/** A private channel that is joined again whatever ends it, until it is closed. */
export interface KeptChannel {
  /** Sends to the others on the channel; what cannot be sent now is not sent. */
  send(event: string, payload: Record<string, unknown>): void
  /** Begins again at once if it is not joined. */
  wake(): void
  close(): void
}

// Longer than the library's time for a join and its longest pause between two; shorter than the patience of people. Never quite the same, so
// that clients that were cut off together come back apart.
const patience = () => 24_000 + Math.random() * 6_000
// A channel that lived this long did not end for what ended the one before it.
const longLife = 60_000

/**
 * `joined` hears of each join, of the first as of later ones, and of what went wrong. After a lost connection supabase-js joins again by
 * itself. It does not after CLOSED, which is how the server ends a channel when its token has expired or a limit is met: that one is
 * made anew here, as is one that does not get through.
 */
export const keepChannel = (
  supabase: Client,
  topic: string,
  events: Record<string, (payload: unknown) => void>,
  joined: (joined: boolean, error: string | null) => void,
): KeptChannel => {
  let channel: RealtimeChannel | null = null
  let isJoined = false
  let joinedAt = 0
  let failures = 0
  let builds = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const buildIn = (milliseconds: number) => {
    clearTimeout(timer)
    timer = setTimeout(build, milliseconds)
  }
  const tell = (now: boolean, error: string | null = null) => {
    isJoined = now
    joined(now, error)
  }
  // A failed refresh is not the end: the join is refused then, and tried again.
  const setAuth = () => supabase.realtime.setAuth().catch(() => {})

  const heard = (current: RealtimeChannel, status: string, error?: Error) => {
    if (channel !== current) return
    if (status === 'SUBSCRIBED') {
      clearTimeout(timer)
      timer = undefined
      joinedAt = Date.now()
      return tell(true)
    }
    if (isJoined && Date.now() - joinedAt > longLife) failures = 0
    if (status === 'CLOSED') {
      channel = null
      buildIn(backoff(failures++))
    } else {
      // The library tries again by itself, and with the token it has then.
      setAuth()
      if (isJoined || timer === undefined) buildIn(patience())
    }
    tell(false, error?.message ?? status)
  }

  const build = async (): Promise<void> => {
    const build = ++builds
    channel = null
    if (isJoined) tell(false)
    buildIn(patience())
    // supabase-js has one channel for a topic: while the one before is not gone, a new one would be the old one.
    const before = supabase.getChannels().find((known) => known.topic === `realtime:${topic}`)
    if (before) await supabase.removeChannel(before).catch(() => {})
    // Without this the first join of a fresh client carries no token, and is refused.
    await setAuth()
    if (build !== builds) return
    const current = supabase.channel(topic, { config: { private: true } })
    channel = current
    for (const [event, hear] of Object.entries(events)) {
      current.on('broadcast', { event }, ({ payload }) => {
        if (channel === current) hear(payload)
      })
    }
    current.subscribe((status, error) => heard(current, status, error))
  }

  build()
  return {
    send(event, payload) {
      // supabase-js would post it where it cannot push it; by then it is no news.
      if (isJoined) channel?.send({ type: 'broadcast', event, payload }).catch(() => {})
    },
    wake() {
      if (!isJoined) build()
    },
    close() {
      builds++
      clearTimeout(timer)
      const last = channel
      channel = null
      if (last) supabase.removeChannel(last).catch(() => {})
    },
  }
}
