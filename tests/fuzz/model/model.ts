import fc from 'fast-check'
import { expect } from 'vitest'
import { type Answer, call, type Person } from '../../tools/people.ts'
import { testKeys } from '../../tools/stack.ts'

/** A reservation, with the steps of its history: status and whose it was, null for the clock and admins. */
export interface ModelReservation {
  id: number
  title: string
  status: string
  offeredBy: number
  host: number
  /** Milliseconds; null without an end. */
  date: number
  endsAt: number | null
  history: [status: string, by: number | null][]
}
export interface ModelMessage {
  id: number
  sender: number
  content: string
  read: boolean
}
/** How one participant has arranged a conversation: the latest message when it was archived, 0 without one. */
export interface ModelState {
  archivedAt: number | null
  muted: boolean
  pinned: boolean
}
export interface ModelConversation {
  voyager: number
  local: number
  id: number
  messages: ModelMessage[]
  /** Who has ever sent a message, which an admin may have deleted. */
  written: Set<number>
  states: Map<number, ModelState>
  reservations: ModelReservation[]
}
export interface ModelReport {
  id: number
  reporter: number
  subject: number
  message: number | null
  shares: boolean
  isOpen: boolean
  /** The contents of the messages that admins see, by id. */
  evidence: Map<number, string>
}

/** A model of the service: four users, their conversations, reservations and reports, and who is searchable. */
export interface Model {
  conversations: ModelConversation[]
  users: {
    searchable: boolean
    active: boolean
    erased: boolean
    hidden: boolean
    blocked: Set<number>
    /** Message ids by client_id. */
    sent: Map<string, number>
  }[]
  reports: ModelReport[]
}
export interface Real {
  users: Person[]
  city: string
  /** Where the stack answers; it has FIRST_CONTACT_LIMIT=3 and PARTNER_EMAIL=after_reply. */
  base: string
}
export type Command = fc.AsyncCommand<Model, Real>

export const firstContactLimit = 3

export const isBlocked = ({ users }: Model, one: number, other: number): boolean =>
  users[one]!.blocked.has(other) || users[other]!.blocked.has(one)

/** A command that any user may try at any time; the model predicts the response. */
export const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
})
/** 401 for an erased user, 403 for a deactivated one, else null. */
export const accountError = (model: Model, caller: number): number | null => {
  const { erased, active } = model.users[caller]!
  return erased ? 401 : active ? null : 403
}
export const expectStatus = (answer: Answer, expected: number): void => {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: expected, text: expect.any(String) })
}
/** One of the conversations, or undefined while there are none. */
export const talkAt = ({ conversations }: Model, which: number): ModelConversation | undefined =>
  conversations[which % Math.max(conversations.length, 1)]
export const takesPart = ({ voyager, local }: ModelConversation, user: number): boolean =>
  voyager === user || local === user
export const partnerIn = ({ voyager, local }: ModelConversation, user: number): number =>
  voyager === user ? local : voyager
export const lastId = ({ messages }: ModelConversation): number => Math.max(0, ...messages.map(({ id }) => id))
export const newModel = (users: number): Model => ({
  conversations: [],
  users: Array.from({ length: users }, () => ({
    searchable: false,
    active: true,
    erased: false,
    hidden: false,
    blocked: new Set(),
    sent: new Map(),
  })),
  reports: [],
})

/** The Data API of the stack with the secret key. */
export const asAdmin = ({ base }: Real, method: string, path: string, body?: unknown): Promise<Answer> =>
  call(method, `${new URL(base).origin}/rest/v1/${path}`, body, {
    headers: { apikey: testKeys.secretKey, Prefer: 'return=representation' },
  })
