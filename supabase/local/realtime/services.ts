import type { Permissions } from './authorization.ts'
import type { Broadcasts } from './broadcasts.ts'
import type { Hub } from './hub.ts'
import type { Identity } from './identity.ts'
import type { PostgresChanges } from './postgres_changes.ts'
import type { Presence } from './presence.ts'

/** The parts of Realtime that channels use. */
export interface Services {
  hub: Hub
  presence: Presence
  broadcasts: Broadcasts
  postgresChanges: PostgresChanges
  authorize: (topic: string, identity: Identity) => Promise<Permissions>
  /** Counts changes of permissions on any topic: a join that sees the count change authorizes again. */
  permissionChanges: { count: number }
  identify: (token: string) => Promise<Identity>
  /** Whether to wait where Supabase's server does: REALTIME_DELAYS. */
  hasDelays: boolean
}
