// What Supabase's Realtime does, from its source, github.com/supabase/realtime at v2.129.8. tests/platform compares
// them with a server that somebody supplies.

/** How long a join that is refused holds up its connection: config/runtime.exs, CHANNEL_ERROR_BACKOFF_MS. */
export const channelErrorBackoff = 5000
/** How often a channel looks whether replication has started: lib/realtime_web/channels/realtime_channel.ex. */
export const replicationReadyInterval = 500
/** After how long it gives up and closes: config/config.exs, replication_ready_timeout. */
export const replicationReadyTimeout = 60_000
/** How long after the join of a first user replication starts, where no transaction is open: measured, 15 to 74 ms. */
export const replicationStart = 50
/** For how long others may not see a commit after its event: measured, 2 to 62 ms. */
export const commitInvisible = 60
/** Presence of one client: config/runtime.exs, CLIENT_PRESENCE_MAX_CALLS and CLIENT_PRESENCE_WINDOW_MS. */
export const presenceCalls = 5
export const presenceWindow = 30_000
