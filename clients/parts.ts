import type { Api } from './api.ts'
import type { Cache } from './cache.ts'
import type { Conversations } from './conversations.ts'
import type { InboxChannel } from './inbox_channel.ts'
import type { List } from './list.ts'
import type { Outbox } from './outbox.ts'
import type { Store } from './store.ts'
import type { Person } from './types.ts'
import type { UnsentStore } from './unsent.ts'
import type { InboxView } from './views.ts'

/** What an inbox consists of, and its conversations share. */
export interface InboxParts {
  closed: AbortSignal
  api: Api
  store: Store<InboxView>
  me: Promise<Person>
  unsent: UnsentStore
  cache: Cache
  outbox: Outbox
  channel: InboxChannel
  list: List
  conversations: Conversations
}
