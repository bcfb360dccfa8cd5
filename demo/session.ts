import type { SupabaseClient } from '@supabase/supabase-js'
import type { ApiClient } from '../clients/api_client.ts'
import type { Inbox } from '../clients/inbox.ts'
import type { Navigation } from './navigation.ts'
import type { openStates } from './states.ts'
import type { Files } from './storage.ts'

/** What the pages of a user share. */
export interface Session {
  supabase: SupabaseClient
  api: ApiClient
  inbox: Inbox
  states: ReturnType<typeof openStates>
  files: Files
  navigation: Navigation
}
