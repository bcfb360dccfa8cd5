import type { ErrorCode } from '../../clients/errors.ts'
import type { Change, Draft, EventPayload, Message } from '../../clients/types.ts'
import { statuses } from '../../functions/_shared/error_codes.ts'
import { refusals } from '../../supabase/local/storage/errors.ts'

type Body = Record<string, unknown>
type Reservation = { id: number; date: string; status?: string; revision?: number } & Body
type Person = { id: number; name: string; email: string }

export const refusal = (code: ErrorCode, error: string, headers = {}, more = {}) =>
  Response.json({ error, ...more }, { status: statuses[code], headers: { ...headers, 'X-Error-Code': code } })
const pick = <Row extends object>(row: Row, ...names: (keyof Row)[]) =>
  Object.fromEntries(names.map((name) => [name, row[name]]))

interface Surroundings {
  /** The voyager and the local. */
  people: [Person, Person]
  conversation: number
  takeId: () => number
  broadcast: (topic: string, event: string, payload: Body) => void
  /** Whether readers see this message yet: its event may overtake its commit. */
  isVisible?: (message: number) => boolean
}

/**
 * The service in memory, as far as the client module calls it, with one conversation. service.test.ts compares what it
 * answers and broadcasts with the service.
 */
export const createService = (
  { people, conversation, takeId, broadcast, isVisible = () => true }: Surroundings,
) => {
  const table: Message[] = []
  const visible = () => table.filter(({ id }) => isVisible(id))
  const sent = new Map<string, number>()
  /** What has changed, in order, for one user or for both. */
  const changes: (Change & { owner: number | null })[] = []
  const service = {
    reservations: [] as Reservation[],
    /** Cursors before this one are refused, as after 30 days or a restore. */
    oldestCursor: 0,
    /** False: as 1.0. */
    knowsStates: true,
  }
  const blocks = new Map<string, string>()
  const states = new Map<number, Body>()
  const other = (me: number) => people.find(({ id }) => id !== me)!
  const nameOf = (person: number) => people.find(({ id }) => id === person)!.name
  const isCutOff = () => blocks.size > 0

  const cannotWrite = (me: number) => {
    const code = blocks.has(`${me} ${other(me).id}`) ? 'blocked' : 'forbidden'
    return isCutOff() ? refusal(code, 'You cannot write to this person') : null
  }

  const logChange = (kind: Change['kind'], id: number, owner: number | null = null) => {
    changes.push({ kind, conversation_id: conversation, id, owner })
  }
  const changesOf = (me: number) => changes.filter(({ owner }) => (owner ?? me) === me)
  const tell = (users: number[], event: string, payload: Omit<EventPayload, 'conversation_id' | 'id'> & Body) => {
    for (const id of users) broadcast(`user:${id}`, event, { conversation_id: conversation, ...payload })
  }
  const both = people.map(({ id }) => id)

  /** As the database does it, also for what an admin inserts. */
  const insertMessage = (sender: number, { content, attachment = null }: Draft): Message => {
    const previous_id = table.at(-1)?.id ?? null
    const message = {
      ...{ id: takeId(), user_id: sender, conversation_id: conversation, content, attachment, read: false },
      ...{ createdAt: new Date().toISOString(), Sender: { id: sender, name: nameOf(sender) } },
      ...{ editedAt: null, deletedAt: null },
    } as Message
    table.push(message)
    logChange('message', message.id)
    tell(both, 'message.created', { id: message.id, previous_id, user_id: sender })
    return { ...message }
  }
  const markRead = (reader: number, upTo: number, onlyThis = false) => {
    const isMarked = ({ id, user_id, read }: Message) =>
      (onlyThis ? id === upTo : id <= upTo) && user_id !== reader && !read
    const marked = table.filter(isMarked)
    for (const message of marked) message.read = true
    const id = marked.at(-1)?.id
    if (id === undefined) return
    logChange('read', id, isCutOff() ? reader : null)
    const previous_id = table.findLast((message) => message.id < id)?.id ?? null
    tell(isCutOff() ? [reader] : both, 'message.read', { id, previous_id, user_id: reader })
  }
  const setBlocked = (blocker: number, isBlocked: boolean) => {
    const user_id = other(blocker).id
    const key = `${blocker} ${user_id}`
    if (blocks.has(key) === isBlocked) return
    if (isBlocked) blocks.set(key, new Date().toISOString())
    else blocks.delete(key)
    logChange('state', conversation, blocker)
    tell([blocker], 'block.changed', { id: null, previous_id: null, user_id })
  }
  const changeReservation = (reservation: Reservation) => {
    service.reservations = [...service.reservations.filter(({ id }) => id !== reservation.id), reservation]
      .sort((one, other) => one.date.localeCompare(other.date) || one.id - other.id)
    logChange('reservation', reservation.id)
    tell(both, 'reservation.changed', { id: reservation.id, previous_id: null, user_id: null })
  }
  /** An admin corrects or removes a message, of which no event tells. */
  const correctMessage = (message: Message, content: string) => {
    if (message.content === content) return
    message.content = content
    logChange('message', message.id)
  }
  /** Its sender corrects a message or takes it back. */
  const changeOwn = (me: number, id: number, change: (message: Message) => Partial<Message> | null | Response) => {
    const message = table.find((one) => one.id === id && one.user_id === me)
    if (!message) return refusal('not_found', 'Message not found')
    const changed = change(message)
    if (changed instanceof Response || !changed) return changed ?? message
    Object.assign(message, changed)
    const owner = isCutOff() ? me : null
    logChange('message.changed', id, owner)
    const previous_id = table.findLast((one) => one.id < id)?.id ?? null
    tell(owner ? [me] : both, 'message.changed', { id, previous_id, user_id: me })
    return message
  }
  const editMessage = (me: number, id: number, content: string) =>
    changeOwn(me, id, (message) => {
      if (message.deletedAt) return refusal('conflict', 'This message was taken back')
      if (!content.trim()) return refusal('invalid', 'content: must not be blank unless there is an attachment')
      if (message.content === content) return null
      return cannotWrite(me) ?? { content, editedAt: new Date().toISOString() }
    })
  const unsendMessage = (me: number, id: number) =>
    changeOwn(
      me,
      id,
      ({ deletedAt }) =>
        deletedAt ? null : { content: '', attachment: null, read: true, deletedAt: new Date().toISOString() },
    )
  const removeMessage = (message: Message) => {
    table.splice(table.indexOf(message), 1)
    logChange('message.removed', message.id)
  }

  const listChanges = (me: number, after: string | null, limit: number) => {
    const all = changesOf(me)
    const hidden = all.findIndex(({ kind, id }) => kind === 'message' && !isVisible(id))
    const own = hidden < 0 ? all : all.slice(0, hidden)
    if (after === null) return { changes: [], cursor: `c${own.length}`, more: false }
    // Between two pages a cursor also holds where the last page ends.
    const [from, end = own.length] = after.slice(1).split('/').map(Number) as [number, number?]
    if (from < service.oldestCursor) {
      return refusal('cursor_expired', 'after: this cursor is not valid any more, read everything anew')
    }
    const to = Math.min(from + limit, end)
    const listed = own.slice(from, to)
    const entity = ({ kind, id }: Change) => `${kind.split('.')[0]} ${id}`
    const isLatest = (change: Change, place: number) =>
      !listed.some((later, index) => index > place && entity(later) === entity(change))
    const changes = listed.filter(isLatest).map((change) => pick(change, 'kind', 'conversation_id', 'id'))
    return { changes, cursor: to < end ? `c${to}/${end}` : `c${to}`, more: to < end }
  }
  const withStates = ({ editedAt, deletedAt, ...message }: Message, query: URLSearchParams) =>
    service.knowsStates && query.get('states') === 'true' ? { ...message, editedAt, deletedAt } : message
  const listMessages = (query: URLSearchParams) => {
    const [after, before] = [Number(query.get('after_id')), Number(query.get('before_id') ?? Infinity)]
    // Most readers are near the end.
    const messages = query.has('after_id')
      ? table.slice(table.findLastIndex(({ id }) => id <= after) + 1).filter(({ id }) => isVisible(id))
      : visible().filter(({ id }) => id < before).reverse()
    const limit = Number(query.get('limit') ?? 50)
    const headers: HeadersInit = messages.length > limit ? { Link: '<?next>; rel="next"' } : {}
    return Response.json(messages.slice(0, limit).map((one) => withStates(one, query)), { headers })
  }
  const send = (me: number, draft: Draft & { client_id?: string }) => {
    if (!draft.content.trim() && !draft.attachment) {
      return refusal('invalid', 'content: must not be blank unless there is an attachment')
    }
    const key = `${me} ${draft.client_id}`
    const known = table.find(({ id }) => id === sent.get(key))
    if (known && known.content !== draft.content && !known.editedAt && !known.deletedAt) {
      return refusal('key_reused', 'This idempotency key was used for another message')
    }
    const { url = '', size, mime_type } = draft.attachment ?? {}
    const file = files.get(url)
    if (draft.attachment && (file?.size !== size || file?.type !== mime_type)) {
      return refusal('invalid', 'attachment: is not a file that you uploaded to this conversation')
    }
    const refused = known ? null : cannotWrite(me)
    if (refused) return refused
    const message = known ?? insertMessage(me, draft)
    if (draft.client_id) sent.set(key, message.id)
    const { editedAt: _, deletedAt, ...sentMessage } = message
    return Response.json({ ...sentMessage, read: Boolean(deletedAt) }, { status: 201 })
  }
  const files = new Map<string, Blob>()
  const store = (path: string, body: FormData): Response => {
    if (files.has(path)) return refusals.exists().response()
    files.set(path, body.get('') as Blob)
    return Response.json({ Id: path, Key: path })
  }
  const setState = (me: number, state: Body) => {
    const before = { archived: false, muted_until: null, pinned: false, ...states.get(me) }
    const after = { ...before, ...state }
    states.set(me, after)
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      logChange('state', conversation, me)
      tell([me], 'conversation.state', { id: conversation, previous_id: null, user_id: me })
    }
    return { conversation_id: conversation, ...after }
  }
  const mark = (me: number, id: number, onlyThis: boolean) => {
    if (!table.some((message) => message.id === id)) return refusal('not_found', 'Message not found')
    markRead(me, id, onlyThis)
    return { success: true }
  }
  const block = (me: number, isBlocked: boolean) => {
    setBlocked(me, isBlocked)
    return new Response(null, { status: 204 })
  }
  const listConversations = (me: number, query: URLSearchParams) => {
    // The other participant's address is empty across a block.
    const [Voyager, Local] = people.map((one) => one.id !== me && isCutOff() ? { ...one, email: '' } : one)
    const shown = ['id', 'content', 'user_id', 'read', 'createdAt', 'editedAt', 'deletedAt'] as const
    const Messages = visible().slice(-1).map((one) => withStates(pick(one, ...shown) as Message, query))
    const partner = { ...pick(other(me), 'id', 'name'), profile: null }
    return [{ id: conversation, Voyager, Local, partner, Messages }]
  }
  const getConversation = () => {
    const [Voyager, Local] = people.map((one) => pick(one, 'id', 'name'))
    const Reservations = service.reservations.map((one) => pick(one, 'id', 'title', 'price', 'date', 'status'))
    return { id: conversation, Voyager, Local, Reservations }
  }
  const listBlocks = (me: number) => {
    const { id: user_id, name } = other(me)
    const createdAt = blocks.get(`${me} ${user_id}`)
    return createdAt ? [{ user_id, name, createdAt }] : []
  }
  const countUnread = (me: number) => {
    const unread = visible().filter(({ read, user_id }) => !read && user_id !== me).length
    return { total: unread, conversations: unread ? [{ conversation_id: conversation, unread }] : [] }
  }

  const own = `conversations/${conversation}`
  const isOpen = () =>
    refusal('already_open', 'A conversation with this user already exists', {}, { conversation_id: conversation })
  type Route = (me: number, query: URLSearchParams, body: Body, id: number) => unknown
  const routes: Record<string, Route> = {
    'GET users/me': (me) => people.find(({ id }) => id === me),
    'GET users/me/blocks': listBlocks,
    'PUT users/me/blocks/:id': (me) => block(me, true),
    'DELETE users/me/blocks/:id': (me) => block(me, false),
    'GET conversations': listConversations,
    'POST conversations': isOpen,
    'GET conversations/unread': countUnread,
    'GET conversations/changes': (me, query) => listChanges(me, query.get('after'), Number(query.get('limit'))),
    [`GET ${own}`]: getConversation,
    [`PUT ${own}/state`]: (me, _, body) => setState(me, body),
    [`GET ${own}/messages`]: (_, query) => listMessages(query),
    [`POST ${own}/messages`]: (me, _, body) => send(me, body as unknown as Draft),
    [`PATCH ${own}/messages/:id`]: (me, query, { content }, id) => {
      const answer = editMessage(me, id, content as string)
      return answer instanceof Response ? answer : withStates(answer, query)
    },
    [`DELETE ${own}/messages/:id`]: (me, _, __, id) => {
      const answer = unsendMessage(me, id)
      return answer instanceof Response ? answer : new Response(null, { status: 204 })
    },
    [`PATCH ${own}/messages/:id/read`]: (me, _, __, id) => mark(me, id, true),
    [`POST ${own}/read`]: (me, _, { up_to_message_id }) => mark(me, Number(up_to_message_id), false),
    [`GET ${own}/reservations/:id`]: (_, __, ___, reservation) =>
      service.reservations.find(({ id }) => id === reservation) ?? refusal('not_found', 'Reservation not found'),
  }
  const respond = (me: number, method: string, path: string, query: URLSearchParams, body: Body): Response => {
    const [, id] = /(?:blocks|messages|reservations)\/(\d+)/.exec(path) ?? []
    const route = routes[`${method} ${path.replace(/(blocks|messages|reservations)\/\d+/, '$1/:id')}`]
    const answer = route ? route(me, query, body, Number(id)) : refusal('not_found', 'Conversation not found')
    return answer instanceof Response ? answer : Response.json(answer)
  }

  return Object.assign(service, {
    ...{ people, conversation, table, files, store, changesOf, respond, tell, insertMessage, markRead, setBlocked },
    ...{ changeReservation, correctMessage, removeMessage, editMessage, unsendMessage },
  })
}
