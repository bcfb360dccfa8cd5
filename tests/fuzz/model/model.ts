import { expect } from 'vitest'
import { type Answer, call, type Person } from '../../tools/people.ts'
import { testKeys } from '../../tools/stack.ts'

/** A reservation, with the steps of its history: status and whose it was, null for the clock and admins. */
export interface Reservation {
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
/** `at` is when it was sent, by the model's clock. */
export type Message = { id: number; at: number; sender: number; content: string; read: boolean }
/** How one participant has arranged a conversation: the latest message when it was archived, 0 without one. */
export type State = { archivedAt: number | null; muted: boolean; pinned: boolean }
/** `written` has who has ever sent a message, which an admin may have deleted. */
export interface Talk {
  voyager: number
  local: number
  id: number
  openedAt: number
  messages: Message[]
  written: Set<number>
  states: Map<number, State>
  reservations: Reservation[]
}
/** `evidence` has the contents of the messages that admins see, by id. */
export interface Report {
  id: number
  reporter: number
  subject: number
  message: number | null
  shares: boolean
  isOpen: boolean
  evidence: Map<number, string>
}
/** An entry of GET /conversations/changes. */
export type Change = { kind: string; conversation_id: number; id: number }

const newUser = () => ({
  ...{ searchable: false, active: true, erased: false, hidden: false, blocked: new Set<number>() },
  /** Message ids by client_id. */
  sent: new Map<string, number>(),
  /** What has changed for the user since they asked for changes last, and the cursor that they got. */
  changes: [] as Change[],
  cursor: null as string | null,
})
export type User = ReturnType<typeof newUser>

/** A model of the service: four users, their conversations, reservations and reports. */
export interface Model {
  /** Counts what was opened and sent. */
  clock: number
  talks: Talk[]
  users: User[]
  reports: Report[]
}
/** The service: the same users, in a city of their own, and where it answers. */
export type Real = { users: Person[]; city: string; base: string }
export type Fixture = Real & { model: Model }

/** The stack has FIRST_CONTACT_LIMIT=3 and PARTNER_EMAIL=after_reply. */
export const firstContactLimit = 3

export const newModel = (users: number): Model => ({
  ...{ clock: 0, talks: [], reports: [] },
  users: Array.from({ length: users }, newUser),
})

/** Users are named by number from 0 on; these two are whoever has this side of the conversation in question. */
export const voyagerSide = 100
export const localSide = 101
/** The user that `who` names in a conversation. */
export const userIn = ({ voyager, local }: Talk, who: number): number =>
  who === voyagerSide ? voyager : who === localSide ? local : who
export const takesPart = ({ voyager, local }: Talk, user: number): boolean => voyager === user || local === user
export const partnerIn = ({ voyager, local }: Talk, user: number): number => voyager === user ? local : voyager
export const lastId = ({ messages }: Talk): number => Math.max(0, ...messages.map(({ id }) => id))
/** One of a list, counted from its end; undefined while there are none. */
export const nth = <Item>(list: Item[], index: number): Item | undefined =>
  list.at(-1 - index % Math.max(list.length, 1))
export const isBlocked = ({ users }: Model, one: number, other: number): boolean =>
  users[one]!.blocked.has(other) || users[other]!.blocked.has(one)
/** Whether a message or offer more may reach the partner. */
export const mayWriteFirst = (talk: Talk, caller: number): boolean => {
  const partner = partnerIn(talk, caller)
  const steps = talk.reservations.flatMap(({ history }) => history)
  const answers = ['pending', 'accepted', 'declined']
  if (talk.written.has(partner) || steps.some(([status, by]) => by === partner && answers.includes(status))) return true
  const offers = steps.filter(([status, by]) => by === caller && status === 'pending')
  return talk.messages.length + offers.length < firstContactLimit
}
/** Logs a change for these users, which their next page of changes must name. */
export const log = ({ users }: Model, who: number[], kind: string, { id: conversation_id }: Talk, id: number): void => {
  for (const user of who) users[user]!.changes.push({ kind, conversation_id, id })
}
export const logForBoth = (model: Model, kind: string, talk: Talk, id = talk.id): void =>
  log(model, [talk.voyager, talk.local], kind, talk, id)
/** Logs for a user that they have blocked or unblocked another one. */
export const logBlock = (model: Model, user: number, other: number): void => {
  const talk = model.talks.find((one) => takesPart(one, user) && takesPart(one, other))
  if (talk) log(model, [user], 'state', talk, talk.id)
}

export const expectStatus = ({ status, text }: Answer, expected: number): void =>
  expect({ status, text }).toEqual({ status: expected, text: expect.any(String) })
/** The status for whoever is erased or deactivated. */
export const accountError = ({ users }: Model, caller: number): number | false =>
  users[caller]!.erased ? 401 : !users[caller]!.active && 403

export type Request = [method: string, path: string, body?: unknown]
/** Sends a request of a user. It is refused with the first of these statuses, or succeeds; null if it is refused. */
export const ask = async (
  { model, users }: Fixture,
  caller: number,
  request: Request,
  refusals: (number | false)[],
  success = 200,
): Promise<Answer | null> => {
  const answer = await users[caller]!.call(...request)
  const refusal = [accountError(model, caller), ...refusals].find(Boolean)
  expectStatus(answer, refusal || success)
  return refusal ? null : answer
}
/** The Data API with the secret key. */
export const askAdmin = async ({ base }: Real, [method, path, body]: Request, status = 200): Promise<Answer> => {
  const headers = { apikey: testKeys.secretKey, Prefer: 'return=representation' }
  const answer = await call(method, `${new URL(base).origin}/rest/v1/${path}`, body, { headers })
  expectStatus(answer, status)
  return answer
}
