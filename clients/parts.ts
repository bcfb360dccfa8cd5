import type { Api } from './api.ts'
import type { Cache } from './cache.ts'
import type { Conversations } from './conversations.ts'
import type { InboxView } from './inbox.ts'
import type { InboxChannel } from './inbox_channel.ts'
import type { Blocks, List } from './list.ts'
import type { Outbox } from './outbox.ts'
import type { ReadMarkers } from './read_markers.ts'
import type { Store } from './store.ts'
import type { UnsentStore } from './unsent.ts'

/** What an inbox consists of. */
export interface InboxParts {
  api: Api
  store: Store<InboxView>
  unsent: UnsentStore
  cache: Cache
  outbox: Outbox
  readMarkers: ReadMarkers
  channel: InboxChannel
  list: List
  blocks: Blocks
  conversations: Conversations
}
