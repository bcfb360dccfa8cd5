import type { Channel } from './channel.ts'
import { type Broadcast, encodeBroadcast, type Version } from './protocol.ts'

const none: ReadonlySet<Channel> = new Set()

/** The channels on each topic. */
export const openHub = () => {
  const topics = new Map<string, Set<Channel>>()
  const subscribers = (topic: string) => topics.get(topic) ?? none
  return {
    subscribers,
    /** The channels that were joined with a token of this account. */
    channelsOf: (account: string): Channel[] =>
      [...topics.values()].flatMap((channels) => [...channels]).filter(({ identity }) =>
        identity.claims.sub === account
      ),
    add: (channel: Channel): void => {
      const channels = topics.get(channel.topic) ?? new Set()
      topics.set(channel.topic, channels.add(channel))
    },
    remove: (channel: Channel): void => {
      const channels = topics.get(channel.topic)
      channels?.delete(channel)
      if (channels?.size === 0) topics.delete(channel.topic)
    },
    /** Sends to every channel that may read and passes the filter; encodes once for each protocol version. */
    broadcast: (topic: string, broadcast: Broadcast, filter = (_: Channel) => true): void => {
      const encoded = new Map<Version, string>()
      for (const channel of subscribers(topic)) {
        const { connection: { version }, permissions } = channel
        if (!permissions.canRead.includes('broadcast') || !filter(channel)) continue
        if (!encoded.has(version)) encoded.set(version, encodeBroadcast(version, channel.phxTopic, broadcast))
        channel.connection.write(encoded.get(version)!)
      }
    },
  }
}
export type Hub = ReturnType<typeof openHub>
