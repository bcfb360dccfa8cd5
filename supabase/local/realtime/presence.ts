import type { Channel } from './channel.ts'
import type { Hub } from './hub.ts'

type Meta = Record<string, unknown> & { phx_ref: string }
type State = Record<string, { metas: Meta[] }>

/** Who says to be there, on each topic: by key, with what they say of themselves. */
export interface Presence {
  state: (topic: string) => State
  track: (channel: Channel, said: Record<string, unknown>) => void
  untrack: (channel: Channel) => void
}

const freshRef = (): string => crypto.getRandomValues(new Uint8Array(9)).toBase64()

export const openPresence = (hub: Hub): Presence => {
  const tracked = new Map<Channel, Meta>()

  const tell = (topic: string, joins: State, leaves: State): void => {
    for (const channel of hub.on(topic)) {
      if (channel.isPresent) channel.push('presence_diff', { joins, leaves })
    }
  }

  return {
    state: (topic) => {
      // Keys are the clients' own words, `__proto__` too.
      const state: State = Object.create(null)
      for (const channel of hub.on(topic)) {
        const meta = tracked.get(channel)
        if (meta) (state[channel.presenceKey] ??= { metas: [] }).metas.push(meta)
      }
      return state
    },
    track: (channel, said) => {
      const before = tracked.get(channel)
      const meta = { ...said, phx_ref: freshRef(), ...(before && { phx_ref_prev: before.phx_ref }) }
      tracked.set(channel, meta)
      const key = channel.presenceKey
      tell(channel.topic, { [key]: { metas: [meta] } }, before ? { [key]: { metas: [before] } } : {})
    },
    untrack: (channel) => {
      const before = tracked.get(channel)
      if (!before) return
      tracked.delete(channel)
      tell(channel.topic, {}, { [channel.presenceKey]: { metas: [before] } })
    },
  }
}
