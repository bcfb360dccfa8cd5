import type { Channel } from './channel.ts'
import { type Announcement, encodeAnnouncement, type Version } from './protocol.ts'

/** Who is on which private topic. */
export interface Hub {
  add: (channel: Channel) => void
  remove: (channel: Channel) => void
  on: (topic: string) => ReadonlySet<Channel>
  /** Sends to everybody who may hear; encodes once for each version. */
  announce: (topic: string, announcement: Announcement, isFor?: (channel: Channel) => boolean) => void
}

const nobody: ReadonlySet<Channel> = new Set()

export const openHub = (): Hub => {
  const topics = new Map<string, Set<Channel>>()
  const on = (topic: string) => topics.get(topic) ?? nobody
  return {
    on,
    add: (channel) => {
      const there = topics.get(channel.topic) ?? new Set()
      topics.set(channel.topic, there.add(channel))
    },
    remove: (channel) => {
      const there = topics.get(channel.topic)
      there?.delete(channel)
      if (there?.size === 0) topics.delete(channel.topic)
    },
    announce: (topic, announcement, isFor = () => true) => {
      const encoded = new Map<Version, ReturnType<typeof encodeAnnouncement>>()
      for (const channel of on(topic)) {
        const { connection: { version }, rights } = channel
        if (!rights.hears.includes('broadcast') || !isFor(channel)) continue
        if (!encoded.has(version)) encoded.set(version, encodeAnnouncement(version, channel.name, announcement))
        const frame = encoded.get(version)
        if (frame) channel.connection.write(frame)
      }
    },
  }
}
