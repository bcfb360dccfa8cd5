import type { ServiceError } from './errors.ts'
import type { Listener } from './store.ts'
import type { Attachment, Draft, ListedConversation, Message, OwnReservation, Person, Status } from './types.ts'

interface Written {
  /** Generated here. The service answers a repeated client_id with the first answer, so retrying is safe. */
  client_id: string
  content: string
  attachment: Attachment | null
  createdAt: string
  /** The id of the newest message shown when this one was written, or 0. */
  after: number
}

/** A message that the service has not accepted yet, as it is kept. */
export interface UnsentMessage extends Written {
  conversation: number
  /** Why the service refused it, if it did. */
  refused: Pick<ServiceError, 'message' | 'status' | 'body'> | null
}

/** A message of the caller's that is not confirmed yet. */
export interface Outgoing extends Written {
  /** waiting: retried automatically. sent: answered, and about to appear in the messages. refused: see `error`. */
  state: 'sending' | 'waiting' | 'sent' | 'refused'
  error: ServiceError | null
  /** How much of its file has arrived, from 0 to 1, while it is uploaded. */
  progress: number | null
  message: Message | null
}

interface SyncedView {
  /** Whether it has been read once. Until then an empty list does not mean that there is nothing. */
  loaded: boolean
  /** Until the service has answered: as of when this is, as an earlier page has left it. */
  asOf: string | null
  status: Status
  /** The error of the last request; null after one that succeeded. */
  error: ServiceError | null
}

export interface ConversationView extends SyncedView {
  id: number
  /** Oldest first, without gaps from the first message shown. Show `outgoing` below it. */
  messages: readonly Message[]
  /** The caller's messages that are not in `messages` yet. */
  outgoing: readonly Outgoing[]
  /** What the user was writing, as `setDraft` has left it, also in another page or before a reload. */
  draft: string
  hasOlder: boolean
  typing: boolean
  /** The other participant. */
  other: Person | null
  /** Whether the user has blocked them. */
  blocked: boolean
  /** With all their terms and steps, once these have been read. */
  reservations: readonly OwnReservation[]
}

export interface InboxView extends SyncedView {
  me: Person | null
  /** Latest activity first, each with the other participant, its latest message and its number of unread messages. */
  conversations: readonly (ListedConversation & { unread: number })[]
  unread: number
  /** Whether what is unsent survives closing the page: not without a storage, nor while it is full, fails or hangs. */
  isDurable: boolean
}

/** A conversation that is kept in sync with the service until it is closed. */
export interface Conversation {
  readonly id: number
  readonly view: ConversationView
  subscribe(listener: Listener): () => void
  /**
   * Shows the message at once, clears the draft, and retries until answered. Rejects if it is refused or discarded, or
   * if the inbox closes.
   */
  send(draft: string | Draft): Promise<Message>
  retry(clientId: string): void
  /** Removes a message that is refused or waiting. One that has reached the service stays, also if nobody knows yet. */
  discard(clientId: string): void
  /**
   * Corrects the text of a message that the user has sent, within 15 minutes by default. Resolves to what it is then;
   * rejects with the service's refusal, or without a network. The view shows what the service has.
   */
  edit(message: number, content: string): Promise<Message>
  /** Takes back a message that the user has sent, within a day by default. It then has `deletedAt`. */
  unsend(message: number): Promise<void>
  /** Loads a page of older messages, if there are any; rejects if that fails. */
  older(): Promise<void>
  /** Keeps what the user is writing. Resolves when it is stored, if the inbox is durable. */
  setDraft(text: string): Promise<void>
  /** Tells the other participant that the caller is typing; call it on every keystroke. */
  typing(): void
  /** Reads the participants, blocks and reservations again, as after a step that the user has taken. */
  refresh(): void
  /** Marks received messages as read, up to this one or all that are shown; retried until answered. */
  markRead(upTo?: number): void
  close(): void
}
