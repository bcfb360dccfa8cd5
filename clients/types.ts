import type { SupabaseClient } from '@supabase/supabase-js'
import type { components } from './openapi.ts'

/** The part of SupabaseClient that this module uses, independent of its type parameters. */
export type Client = Pick<SupabaseClient, 'auth' | 'functions' | 'realtime' | 'storage'>
export type Realtime = SupabaseClient['realtime']

type Schemas = components['schemas']
export type Attachment = Schemas['Attachment']
export type Message = Schemas['Message']
export type Person = Message['Sender']
type Conversation = Schemas['Conversation']
/** The other participant, with the id and the photo of their profile while everybody can see it. */
export type Partner = NonNullable<Conversation['partner']>
export type ListedConversation = Conversation & { partner: Partner }
export type Reservation = Schemas['Reservation']
export type ReservationDetail = Schemas['ReservationDetail']
export type ReservationWithHistory = Schemas['ReservationWithHistory']
export type ReservationStep = 'accept' | 'decline' | 'change' | 'cancel'
/** A reservation with its terms and history, and what the user can do about it now. */
export type OwnReservation = ReservationWithHistory & { can: readonly ReservationStep[] }
/** What has changed in a conversation, and the id of what it is: of the conversation, message or reservation. */
export type Change = Schemas['Change']

export interface Draft {
  content: string
  /** A file that has been uploaded, or an https URL. */
  attachment?: Attachment | null
  /** In its place, a file that is uploaded before the message is sent. */
  file?: Blob | null
}

/**
 * live: events arrive, and what they told of is shown. That one was lost on its own shows within a minute. delayed: no
 * event tells of what is new, so polls find it, seconds later. catching up: something is known to be missing.
 * offline: the service does not answer, or there is no channel.
 */
export type Status = 'live' | 'delayed' | 'catching up' | 'offline'

export const eventNames = [
  ...['message.created', 'message.changed', 'message.read'] as const,
  ...['conversation.created', 'reservation.changed'] as const,
]
export type EventName = typeof eventNames[number]

/** An event says which row to read and carries no content. */
export interface EventPayload {
  conversation_id: number
  id: number
  previous_id: number | null
  user_id: number | null
}
