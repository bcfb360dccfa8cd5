import type { Channel } from './channel.ts'
import type { Hub } from './hub.ts'

type Meta = Record<string, unknown> & { phx_ref: string }
type State = Record<string, { metas: Meta[] }>

const newRef = (): string => crypto.getRandomValues(new Uint8Array(9)).toBase64()

/** Phoenix Presence: what the clients of each topic track, by presence key. */
export const openPresence = (hub: Hub) => {
  const tracked = new Map<Channel, Meta>()

  const pushDiff = (topic: string, joins: State, leaves: State): void => {
    for (const channel of hub.subscribers(topic)) {
      if (channel.presenceEnabled) channel.push('presence_diff', { joins, leaves })
    }
  }

  return {
    state: (topic: string): State => {
      // Clients choose the keys; `__proto__` must be an ordinary one.
      const state: State = Object.create(null)
      for (const channel of hub.subscribers(topic)) {
        const meta = tracked.get(channel)
        if (meta) (state[channel.presenceKey] ??= { metas: [] }).metas.push(meta)
      }
      return state
    },
    track: (channel: Channel, payload: Record<string, unknown>): void => {
      const before = tracked.get(channel)
      const meta = { ...payload, phx_ref: newRef(), ...(before && { phx_ref_prev: before.phx_ref }) }
      tracked.set(channel, meta)
      const key = channel.presenceKey
      pushDiff(channel.topic, { [key]: { metas: [meta] } }, before ? { [key]: { metas: [before] } } : {})
    },
    untrack: (channel: Channel): void => {
      const before = tracked.get(channel)
      if (!before) return
      tracked.delete(channel)
      pushDiff(channel.topic, {}, { [channel.presenceKey]: { metas: [before] } })
    },
  }
}
export type Presence = ReturnType<typeof openPresence>
