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
  revision: number
  host: number
  /** Milliseconds; null without an end. */
  date: number
  endsAt: number | null
  /** Its time has passed, so the clock writes its row at some moment. */
  isPast: boolean
  history: [status: string, by: number | null][]
}
export interface ModelMessage {
  id: number
  /** When it was sent, by the model's clock. */
  at: number
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
  openedAt: number
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

/** An entry of GET /conversations/changes. */
export interface ModelChange {
  kind: string
  conversation_id: number
  id: number
}

/** A model of the service: four users, their conversations, reservations and reports, and who is searchable. */
export interface Model {
  /** Counts what was opened and sent. */
  clock: number
  conversations: ModelConversation[]
  users: {
    searchable: boolean
    active: boolean
    erased: boolean
    hidden: boolean
    blocked: Set<number>
    /** Message ids by client_id. */
    sent: Map<string, number>
    /** What has changed for the user since they asked for changes last, and the cursor that they got. */
    changes: ModelChange[]
    cursor: string | null
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

/** Whether a message or offer more may reach the partner. */
export const mayWriteFirst = (talk: ModelConversation, caller: number): boolean => {
  const partner = partnerIn(talk, caller)
  const steps = talk.reservations.flatMap(({ history }) => history)
  const answers = ['pending', 'accepted', 'declined']
  if (talk.written.has(partner) || steps.some(([status, by]) => by === partner && answers.includes(status))) return true
  const offers = steps.filter(([status, by]) => by === caller && status === 'pending')
  return talk.messages.length + offers.length < firstContactLimit
}

export const isBlocked = ({ users }: Model, one: number, other: number): boolean =>
  users[one]!.blocked.has(other) || users[other]!.blocked.has(one)

/** How often the commands of a kind, by their name without ids and texts, changed the model, and how often not. */
export const tally = new Map<string, { changed: number; unchanged: number }>()

/** The model as text, without what compare alone changes. */
const asText = (model: Model): string =>
  JSON.stringify(
    model,
    (key, value) =>
      key === 'changes' || key === 'cursor'
        ? undefined
        : value instanceof Map || value instanceof Set
        ? [...value]
        : value,
  )

/** A command that any user may try at any time; the model predicts the response. */
export const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    const before = asText(model)
    await run(model, real)
    const kind = name.replaceAll(/"[^"]*"|null|[0-9a-f]{8}-[0-9a-f-]{27}|\d+/g, '').replaceAll(/ +/g, ' ').trim()
    const counts = tally.get(kind) ?? { changed: 0, unchanged: 0 }
    counts[asText(model) === before ? 'unchanged' : 'changed']++
    tally.set(kind, counts)
  },
  toString: () => name,
})

/** Users are named by number from 0 on; these two are whoever has this side of the conversation in question. */
export const voyagerSide = 100
export const localSide = 101
/** The user that `who` names in a conversation. */
export const userIn = ({ voyager, local }: ModelConversation, who: number): number =>
  who === voyagerSide ? voyager : who === localSide ? local : who

/** Logs a change for these users, which their next page of changes must name. */
export const log = (
  model: Model,
  users: number[],
  kind: string,
  { id: conversation_id }: { id: number },
  id: number,
) => {
  for (const user of users) model.users[user]!.changes.push({ kind, conversation_id, id })
}
/** As log, for both participants. */
export const logForBoth = (model: Model, kind: string, talk: ModelConversation, id: number): void =>
  log(model, [talk.voyager, talk.local], kind, talk, id)
/** Logs for a user that they have blocked or unblocked another one. */
export const logBlock = (model: Model, user: number, other: number): void => {
  const talk = model.conversations.find((one) => takesPart(one, user) && takesPart(one, other))
  if (talk) log(model, [user], 'state', talk, talk.id)
}
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
  clock: 0,
  conversations: [],
  users: Array.from({ length: users }, () => ({
    searchable: false,
    active: true,
    erased: false,
    hidden: false,
    blocked: new Set(),
    sent: new Map(),
    changes: [],
    cursor: null,
  })),
  reports: [],
})

/** The Data API of the stack with the secret key. */
export const asAdmin = ({ base }: Real, method: string, path: string, body?: unknown): Promise<Answer> =>
  call(method, `${new URL(base).origin}/rest/v1/${path}`, body, {
    headers: { apikey: testKeys.secretKey, Prefer: 'return=representation' },
  })
