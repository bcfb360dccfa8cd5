import type { Authorization } from './authorization.ts'
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
  permissions: Authorization
  identify: (token: string) => Promise<Identity>
  /** Whether to wait where Supabase's server does: REALTIME_DELAYS. */
  hasDelays: boolean
}
