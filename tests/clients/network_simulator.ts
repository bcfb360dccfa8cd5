import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import type { ErrorCode } from '../../clients/errors.ts'
import type { Change, Client, Draft, EventPayload, Message } from '../../clients/types.ts'
import { seededRandom } from '../tools/random.ts'
import { createEventLimit } from './event_limit.ts'

/** Faults of the network: shares from 0 to 1, and times in milliseconds. */
export interface Network {
  eventLoss: number
  eventDuplication: number
  /** The longest delay of an event. A longer one reorders more events. */
  eventDelay: number
  requestLoss: number
  responseLoss: number
  /** The share of requests that are answered 503 or 429. */
  overload: number
  /** The longest latency of a request, each way. */
  latency: number
}

export const goodNetwork: Network = {
  eventLoss: 0,
  eventDuplication: 0,
  eventDelay: 5,
  requestLoss: 0,
  responseLoss: 0,
  overload: 0,
  latency: 5,
}
export const badNetwork: Network = {
  eventLoss: 0.3,
  eventDuplication: 0.2,
  eventDelay: 4000,
  requestLoss: 0.1,
  responseLoss: 0.15,
  overload: 0.1,
  latency: 1500,
}

type OnStatus = (status: string, error?: Error) => void
type OnMessage = (message: Record<string, unknown>) => void
interface FakeChannel {
  topic: string
  connection: { channels: FakeChannel[]; isOpen: boolean; isDisconnecting: boolean }
  state: 'new' | 'joined' | 'errored' | 'closed'
  handlers: [event: string, handler: OnMessage][]
  onStatus: OnStatus
  on(type: string, filter: { event?: string }, handler: OnMessage): FakeChannel
  subscribe(onStatus: OnStatus): FakeChannel
  send(message: { event: string; payload: unknown }): Promise<string>
  /** Closed by the server. */
  close(): void
}

/** The service and its network in memory, with one conversation of Ana (1) and Bob (2) and any number of clients. */
export const createSimulator = (seed = 1) => {
  const random = seededRandom(seed)
  const people = [{ id: 1, name: 'Ana', email: 'ana@example.com' }, { id: 2, name: 'Bob', email: 'bob@example.com' }]
  const conversation = 7
  const table: Message[] = []
  const sentByClientId = new Map<string, Message>()
  /** What has changed, in order; a cursor is a position in it. */
  const changes: (Change & { owner?: number })[] = []
  const logChange = (kind: Change['kind'], id: number, owner?: number) => {
    changes.push({ kind, conversation_id: conversation, id, ...(owner && { owner }) })
  }
  const clients: { readonly channels: FakeChannel[] }[] = []
  /** Every request that reached the service, as "1 GET conversations". */
  const requests: string[] = []
  const requestsWith = (text: string) => requests.filter((request) => request.includes(text))
  const server = {
    network: goodNetwork,
    nextId: 1,
    tokenExpired: false,
    refreshedAt: 0,
    reservations: [] as { id: number; status?: string; offered_by?: number }[],
    /** The user ids that each user has blocked. */
    blocked: {} as Record<number, number[]>,
    /** If set, an overloaded service always answers 429 with this Retry-After in seconds; else 503 or 429. */
    retryAfter: 0,
    /** Cursors before this one are refused, as after 30 days or a restore. */
    oldestCursor: 0,
    /** Answers in place of the service, as a proxy or a captive portal does; null lets the request through. */
    intercept: null as ((method: string, body: string) => Response | null) | null,
    /** If set, Realtime drops the database's events beyond it, and closes channels to which others are delivered. */
    eventLimit: null as ReturnType<typeof createEventLimit> | null,
    sentEvents: 0,
    droppedEvents: 0,
    closedChannels: 0,
  }
  const setNetwork = (change: Partial<Network>) => {
    server.network = { ...server.network, ...change }
  }

  const delay = (longest: number) => new Promise<void>((resolve) => setTimeout(resolve, random() * longest))

  const deliver = (topic: string, event: string, payload: unknown, except?: FakeChannel) => {
    server.eventLimit?.count()
    for (const { channels } of clients) {
      for (const channel of channels.filter((known) => known.topic === `realtime:${topic}` && known !== except)) {
        const times = random() < server.network.eventLoss ? 0 : random() < server.network.eventDuplication ? 2 : 1
        for (let time = 0; time < times; time++) {
          delay(server.network.eventDelay).then(() => {
            if (channel.state !== 'joined') return
            for (const [name, handler] of channel.handlers) if (name === event) handler({ payload })
            server.eventLimit?.count()
            if (!server.eventLimit?.isExceeded()) return
            server.closedChannels++
            channel.close()
          })
        }
      }
    }
  }
  const broadcast = (event: string, payload: Omit<EventPayload, 'conversation_id'>) => {
    if (event === 'reservation.changed') logChange('reservation', payload.id)
    for (const { id } of people) {
      server.sentEvents++
      if (server.eventLimit?.isExceeded()) server.droppedEvents++
      else deliver(`user:${id}`, event, { conversation_id: conversation, ...payload })
    }
  }

  /** Blocks or unblocks the other user. As on the platform, channels that are joined already stay joined. */
  const setBlocked = (blocker: number, isBlocked: boolean) => {
    const user_id = 3 - blocker
    server.blocked[blocker] = isBlocked ? [user_id] : []
    logChange('state', conversation, blocker)
    const payload = { conversation_id: conversation, id: null, previous_id: null, user_id }
    deliver(`user:${blocker}`, 'block.changed', payload)
  }

  /** Inserts a message as the database does: ids have gaps, because other conversations take some. */
  const insertMessage = (sender: number, { content, attachment = null }: Draft): Message => {
    const previous_id = table.at(-1)?.id ?? null
    server.nextId += 1 + Math.floor(random() * 3)
    const message: Message = {
      id: server.nextId,
      user_id: sender,
      conversation_id: conversation,
      content,
      attachment,
      read: false,
      createdAt: new Date().toISOString(),
      Sender: { id: sender, name: people[sender - 1]!.name },
    }
    table.push(message)
    logChange('message', message.id)
    broadcast('message.created', { id: message.id, previous_id, user_id: sender })
    return { ...message }
  }
  const markRead = (reader: number, upTo: number, onlyThis = false) => {
    const marked = table.filter(({ id, user_id, read }) =>
      (onlyThis ? id === upTo : id <= upTo) && user_id !== reader && !read
    )
    for (const message of marked) message.read = true
    const newest = marked.at(-1)
    if (newest) logChange('read', newest.id)
    if (newest) broadcast('message.read', { id: newest.id, previous_id: null, user_id: reader })
  }

  /** An admin corrects or removes a message, of which no event tells. */
  const correctMessage = (message: Message, content: string) => {
    message.content = content
    logChange('message', message.id)
  }
  const removeMessage = (message: Message) => {
    table.splice(table.indexOf(message), 1)
    for (const [clientId, { id }] of sentByClientId) if (id === message.id) sentByClientId.delete(clientId)
    logChange('message.removed', message.id)
  }

  const errorCodes: Record<number, ErrorCode> = {
    401: 'unauthorized',
    403: 'blocked',
    404: 'not_found',
    409: 'already_open',
    410: 'cursor_expired',
    429: 'rate_limited',
    503: 'unavailable',
  }
  const errorResponse = (status: number, error: string, headers = {}, more = {}) =>
    Response.json({ error, ...more }, { status, headers: { ...headers, 'X-Error-Code': errorCodes[status]! } })
  /** The other participant's address is empty across a block. */
  const contactFor = (me: number, person: typeof people[number]) => {
    const isCut = Object.values(server.blocked).some(({ length }) => length) && person.id !== me
    return { ...person, email: isCut ? '' : person.email }
  }
  const page = (messages: Message[], limit: number) =>
    Response.json(messages.slice(0, limit), {
      headers: messages.length > limit ? { Link: '<http://service/next>; rel="next"' } : {},
    })

  const respond = (me: number, method: string, url: URL, body: Record<string, unknown>): Response => {
    const path = url.pathname.replace('/functions/v1/', '')
    const number = (name: string) => Number(url.searchParams.get(name) ?? 0)
    switch (`${method} ${path}`) {
      case 'GET users/me':
        return Response.json(people[me - 1])
      case 'GET users/me/blocks': {
        const createdAt = new Date().toISOString()
        return Response.json((server.blocked[me] ?? []).map((user_id) => ({ user_id, name: '', createdAt })))
      }
      case 'GET conversations':
        return Response.json([{
          id: conversation,
          Voyager: contactFor(me, people[0]!),
          Local: contactFor(me, people[1]!),
          partner: { id: 3 - me, name: people[2 - me]!.name, profile: null },
          Messages: table.slice(-1),
        }])
      case 'GET conversations/changes': {
        const after = url.searchParams.get('after')
        if (after === null) return Response.json({ changes: [], cursor: `c${changes.length}`, more: false })
        const from = Number(after.slice(1))
        if (from < server.oldestCursor) return errorResponse(410, 'after: read everything anew')
        const to = from + number('limit')
        const entity = ({ kind, id }: Change) => `${kind.split('.')[0]} ${id}`
        const page = changes.slice(from, to).filter(({ owner = me }) => owner === me)
        const latest = page.filter((change, index) =>
          !page.some((later, place) => place > index && entity(later) === entity(change))
        )
        return Response.json({
          changes: latest.map(({ kind, conversation_id, id }) => ({ kind, conversation_id, id })),
          cursor: `c${Math.min(to, changes.length)}`,
          more: to < changes.length,
        })
      }
      case 'GET conversations/unread': {
        const unread = table.filter(({ read, user_id }) => !read && user_id !== me).length
        const conversations = unread ? [{ conversation_id: conversation, unread }] : []
        return Response.json({ total: unread, conversations })
      }
      case 'POST conversations':
        return errorResponse(409, 'There is one', {}, { conversation_id: conversation })
      case `GET conversations/${conversation}`:
        return Response.json({
          id: conversation,
          Voyager: { id: 1, name: 'Ana' },
          Local: { id: 2, name: 'Bob' },
          Reservations: server.reservations,
        })
      case `GET conversations/${conversation}/messages`: {
        if (url.searchParams.has('after_id')) {
          return page(table.filter(({ id }) => id > number('after_id')), number('limit'))
        }
        const before = number('before_id') || Infinity
        return page(table.filter(({ id }) => id < before).reverse(), number('limit'))
      }
      case `POST conversations/${conversation}/messages`: {
        if (body.content === 'rude') return errorResponse(403, 'You cannot write to this person')
        const clientId = body.client_id as string
        const sent = sentByClientId.get(clientId) ?? insertMessage(me, body as unknown as Draft)
        sentByClientId.set(clientId, sent)
        return Response.json(sent, { status: 201 })
      }
      case `POST conversations/${conversation}/read`:
        markRead(me, Number(body.up_to_message_id))
        return Response.json({ success: true })
      default: {
        const [, rid] = /^GET conversations\/7\/reservations\/(\d+)$/.exec(`${method} ${path}`) ?? []
        const reservation = server.reservations.find(({ id }) => id === Number(rid))
        if (reservation) return Response.json({ ...reservation, history: [] })
        return errorResponse(404, 'Conversation not found')
      }
    }
  }

  /**
   * A supabase-js client as far as the module uses it. Requests go through the real one; Auth and Realtime are fakes.
   */
  const openClient = (me: number) => {
    const log: string[] = []
    const control = {
      isConnecting: false,
      refuseJoins: false,
      joinsTimeOut: false,
      refreshFails: false,
      refreshHelps: true,
      newestAtJoin: 0,
      /** Topics that this user may not join. */
      refused: [] as string[],
      /** After how many milliseconds Realtime says that it passes events on; null: it never does. */
      readyAfter: 0 as number | null,
    }
    const connections: FakeRealtime[] = []
    const allChannels = () => connections.flatMap(({ channels }) => channels)
    let authListener: ((event: string, session: unknown) => void) | undefined
    let tokens = 0
    const sessionOf = (person: number) => ({
      user: { id: `account ${person}` },
      access_token: `token ${person} ${++tokens}`,
    })
    let session: ReturnType<typeof sessionOf> | null = sessionOf(me)

    const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
      const { network } = server
      const aborted = new Promise<never>((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal!.reason))
      })
      const exchange = async () => {
        const url = new URL(String(input))
        const method = init.method ?? 'GET'
        await delay(network.latency)
        init.signal?.throwIfAborted()
        if (random() < network.requestLoss) throw new TypeError('fetch failed')
        const intercepted = server.intercept?.(method, `${init.body ?? ''}`)
        if (intercepted) return intercepted
        const caller = Number(new Headers(init.headers).get('Authorization')?.split(' ')[2])
        requests.push(`${caller} ${method} ${url.pathname.replace('/functions/v1/', '')}${url.search}`)
        if (random() < network.overload) {
          return server.retryAfter || random() < 0.5
            ? errorResponse(429, 'Too many requests', { 'Retry-After': `${server.retryAfter || 2}` })
            : errorResponse(503, 'The service is busy, please try again')
        }
        if (server.tokenExpired) {
          await delay(network.latency)
          return errorResponse(401, 'The token has expired')
        }
        const body = init.body ? JSON.parse(String(init.body)) : {}
        const response = respond(caller, method, url, body)
        const text = await response.text()
        await delay(network.latency)
        if (random() < network.responseLoss) throw new TypeError('terminated')
        return new Response(text, response)
      }
      const exchanging = exchange()
      exchanging.catch(() => {})
      return await Promise.race([exchanging, aborted])
    }
    const real = createClient('http://service', 'sb_publishable_test', {
      accessToken: () => Promise.resolve(session?.access_token ?? null),
      global: { fetch },
      realtime: { transport: ws as never },
    })

    const tellReady = (channel: FakeChannel) => {
      if (control.readyAfter === null) return
      const tell = () => {
        if (channel.state !== 'joined') return
        const [, handler] = channel.handlers.find(([event]) => event === 'system') ?? []
        handler?.({ extension: 'system', status: 'ok', message: 'Replication connection established' })
      }
      if (control.readyAfter) setTimeout(tell, control.readyAfter)
      else tell()
    }
    const join = (channel: FakeChannel) => {
      delay(server.network.latency).then(() => {
        if (channel.state === 'closed') return
        if (control.joinsTimeOut) {
          channel.state = 'errored'
          return channel.onStatus('TIMED_OUT')
        }
        if (control.refuseJoins || control.refused.some((topic) => channel.topic === `realtime:${topic}`)) {
          channel.state = 'errored'
          channel.onStatus('CHANNEL_ERROR', new Error('Unauthorized'))
          return
        }
        channel.state = 'joined'
        channel.connection.isOpen = true
        if (channel.topic.includes('user:')) control.newestAtJoin = table.at(-1)?.id ?? 0
        channel.onStatus('SUBSCRIBED')
        tellReady(channel)
      })
    }
    const closeChannel = (channel: FakeChannel) => {
      if (channel.state === 'closed') return
      const { connection } = channel
      channel.state = 'closed'
      connection.channels = connection.channels.filter((known) => known !== channel)
      channel.onStatus('CLOSED')
    }

    /** A connection. As in supabase-js, the client has one, and others can be made with its constructor. */
    class FakeRealtime {
      channels: FakeChannel[] = []
      isOpen = true
      isDisconnecting = false
      endPoint = 'ws://service/realtime/v1/websocket'
      constructor() {
        connections.push(this)
      }
      getChannels() {
        return this.channels
      }
      isConnected() {
        return this.isOpen
      }
      isConnecting() {
        return control.isConnecting
      }
      async disconnect() {
        log.push(`disconnect ${connections.indexOf(this)}`)
        this.isDisconnecting = true
        await delay(10 * server.network.latency)
        this.isOpen = this.isDisconnecting = false
      }
      connect() {
        this.channels.filter(({ state }) => state === 'new').forEach(join)
      }
      async setAuth() {
        await delay(server.network.latency)
        log.push('setAuth')
      }
      channel(topic: string, options: unknown): FakeChannel {
        const existing = this.channels.find((known) => known.topic === `realtime:${topic}`)
        if (existing) return existing
        log.push(`channel ${topic} ${JSON.stringify(options)}`)
        const channel: FakeChannel = {
          topic: `realtime:${topic}`,
          connection: this,
          state: 'new',
          handlers: [],
          onStatus: () => {},
          on(type, { event = type }, handler) {
            channel.handlers.push([event, handler])
            return channel
          },
          subscribe(onStatus) {
            // Like supabase-js, calls nothing back if the channel is joined or leaving already.
            if (channel.state !== 'new') return channel
            log.push(`subscribe ${topic}`)
            channel.onStatus = onStatus
            // Like supabase-js, does not connect while it disconnects.
            if (!channel.connection.isDisconnecting) join(channel)
            return channel
          },
          send({ event, payload }) {
            log.push(`send ${topic} ${event}`)
            deliver(topic, event, payload, channel)
            return Promise.resolve('ok')
          },
          close: () => closeChannel(channel),
        }
        this.channels.push(channel)
        return channel
      }
      async removeChannel(channel: FakeChannel) {
        log.push(`remove ${channel.topic}`)
        await delay(server.network.latency)
        closeChannel(channel)
        return 'ok'
      }
    }
    const realtime = new FakeRealtime()

    const client = {
      log,
      control,
      get channels() {
        return allChannels()
      },
      connections,
      get hasAuthListener() {
        return authListener !== undefined
      },
      /** The socket is lost; supabase-js rejoins by itself. */
      disconnect() {
        for (const connection of connections) connection.isOpen = false
        for (const channel of allChannels().filter(({ state }) => state === 'joined')) {
          channel.state = 'errored'
          channel.onStatus('CHANNEL_ERROR')
          delay(1500).then(() => channel.state === 'errored' && join(channel))
        }
      },
      /** The server closes the channels, as it does when a token expires; supabase-js does not rejoin them. */
      closeChannels: () => allChannels().forEach(closeChannel),
      signOut: () => {
        session = null
        authListener?.('SIGNED_OUT', null)
      },
      /** Signs a user in on this client. From another tab, the event does not arrive here yet. */
      signIn: (person: number, inAnotherTab = false) => {
        session = sessionOf(person)
        if (!inAnotherTab) authListener?.('SIGNED_IN', session)
      },
      auth: {
        getSession: () => Promise.resolve({ data: { session }, error: null }),
        refreshSession: async () => {
          log.push('refreshSession')
          await delay(server.network.latency)
          if (control.refreshFails) return { error: new Error('Invalid Refresh Token') }
          server.tokenExpired &&= !control.refreshHelps
          server.refreshedAt = Date.now()
          session &&= { ...session, access_token: `${session.access_token} again` }
          return { error: null }
        },
        onAuthStateChange: (listener: (event: string, session: unknown) => void) => {
          authListener = listener
          return { data: { subscription: { unsubscribe: () => authListener = undefined } } }
        },
      },
      functions: real.functions,
      realtime,
    }
    clients.push(client)
    return client as unknown as Client & typeof client
  }

  return {
    server,
    setNetwork,
    table,
    requests,
    requestsWith,
    setBlocked,
    people,
    conversation,
    random,
    insertMessage,
    markRead,
    correctMessage,
    removeMessage,
    changes,
    openClient,
    broadcast,
  }
}
