import type { SupabaseClient } from '@supabase/supabase-js'

/** The part of SupabaseClient that this module uses, independent of its type parameters. */
export type Client = Pick<SupabaseClient, 'auth' | 'functions' | 'realtime'>
export type Realtime = SupabaseClient['realtime']

export interface Person {
  id: number
  name: string
}

export interface Attachment {
  url: string
  name: string
  mime_type: string
  size: number
}

export interface Draft {
  content: string
  attachment?: Attachment | null
}

export interface Message {
  id: number
  user_id: number
  conversation_id: number
  content: string
  attachment: Attachment | null
  read: boolean
  createdAt: string
  Sender: Person
}

export interface ListedConversation {
  id: number
  voyager_id: number
  local_id: number
  Voyager: Person & { email: string }
  Local: Person & { email: string }
  /** The latest message, if there is one. */
  Messages: Pick<Message, 'id' | 'content' | 'user_id' | 'read' | 'createdAt'>[]
  createdAt: string
}

export interface Reservation {
  id: number
  title: string
  price: number
  date: string
  status: 'pending' | 'accepted' | 'declined' | 'cancelled' | 'completed'
}

export interface ConversationDetail {
  id: number
  Voyager: Person & { email: string }
  Local: Person & { email: string }
  Reservations: Reservation[]
}

export interface Unread {
  total: number
  conversations: { conversation_id: number; unread: number }[]
}

/** What has changed in a conversation, and the id of what it is: of the conversation, message or reservation. */
export interface Change {
  kind: 'conversation' | 'message' | 'read' | 'reservation' | 'state' | 'message.removed'
  conversation_id: number
  id: number
}

export interface ChangePage {
  changes: Change[]
  cursor: string
  more: boolean
}

/**
 * live: the view is current. delayed: no event tells of what is new, so polls find it, seconds later. offline: the view
 * may be stale, and only the slow poll updates it.
 */
export type Status = 'live' | 'delayed' | 'catching up' | 'offline'

export const eventNames = ['message.created', 'message.read', 'conversation.created', 'reservation.changed'] as const
export type EventName = typeof eventNames[number]

/** An event says which row to read and carries no content. */
export interface EventPayload {
  conversation_id: number
  id: number
  previous_id: number | null
  user_id: number | null
}
