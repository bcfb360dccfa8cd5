import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import type { Client } from '../../clients/types.ts'
import { seededRandom } from '../tools/random.ts'
import { createEventLimit } from './event_limit.ts'
import { createService, refusal } from './simulated_service.ts'

/** Faults of the network: shares from 0 to 1, and times in milliseconds. */
export const goodNetwork = {
  eventLoss: 0,
  eventDuplication: 0,
  /** The longest delay of an event. A longer one reorders more events. */
  eventDelay: 5,
  requestLoss: 0,
  responseLoss: 0,
  /** The share of requests that are answered 503 or 429. */
  overload: 0,
  /** The longest latency of a request, each way. */
  latency: 5,
  /** The longest time from the event of a message until readers see its commit. */
  invisibility: 0,
  /** Whether nothing gets through, and nobody is told so: 1 or 0. */
  silence: 0,
}
export type Network = typeof goodNetwork
// deno-fmt-ignore
export const badNetwork: Network = {
  eventLoss: 0.3, eventDuplication: 0.2, eventDelay: 4000, requestLoss: 0.1, responseLoss: 0.15, overload: 0.1,
  latency: 1500, invisibility: 100, silence: 0,
}

/** What answers in place of the service. */
export type Interceptor = (method: string, body: string, path: string) => Response | null

type OnStatus = (status: string, error?: Error) => void
type OnMessage = (message: Record<string, unknown>) => void
interface FakeChannel {
  topic: string
  connection: { channels: FakeChannel[]; isOpen: boolean; isDisconnecting: boolean }
  state: 'new' | 'joined' | 'errored' | 'closed'
  handlers: [event: string, handler: OnMessage][]
  onStatus: OnStatus
  on: (type: string, filter: { event?: string }, handler: OnMessage) => FakeChannel
  subscribe: (onStatus: OnStatus) => FakeChannel
  send: (message: { event: string; payload: unknown }) => Promise<string>
  /** Closed by the server. */
  close: () => void
}

/** The simulated service and its network, with Ana (1), Bob (2), their conversation and any number of clients. */
export const createSimulator = (seed = 1) => {
  const random = seededRandom(seed)
  const clients: { readonly channels: FakeChannel[] }[] = []
  /** Every request that reached the service, as "1 GET conversations". */
  const requests: string[] = []
  const requestsWith = (text: string) => requests.filter((request) => request.includes(text))
  const server = {
    network: goodNetwork,
    tokenExpired: false,
    refreshedAt: 0,
    /** If set, an overloaded service always answers 429 with this Retry-After in seconds; else 503 or 429. */
    retryAfter: 0,
    /** As a proxy or a captive portal; null lets the request through. */
    intercept: null as Interceptor | null,
    /** If set, Realtime drops the database's events beyond it, and closes channels to which others are delivered. */
    eventLimit: null as ReturnType<typeof createEventLimit> | null,
    /** What was answered in place of the service. */
    intercepted: [] as string[],
    sentEvents: 0,
    droppedEvents: 0,
    closedChannels: 0,
  }
  const setNetwork = (faults: Partial<Network> = {}) => server.network = { ...goodNetwork, ...faults }
  const delay = (longest: number) => new Promise<void>((resolve) => setTimeout(resolve, random() * longest))
  const transfer = async (longest: number): Promise<void> => {
    await delay(longest)
    while (server.network.silence) await new Promise((resolve) => setTimeout(resolve, 1000))
  }

  const deliver = (topic: string, event: string, payload: unknown, except?: FakeChannel) => {
    server.eventLimit?.count()
    const subscribed = clients.flatMap(({ channels }) => channels.filter((one) => one.topic === `realtime:${topic}`))
    for (const channel of subscribed.filter((one) => one !== except)) {
      const times = random() < server.network.eventLoss ? 0 : random() < server.network.eventDuplication ? 2 : 1
      for (let time = 0; time < times; time++) {
        delay(server.network.eventDelay).then(() => {
          if (channel.state !== 'joined' || server.network.silence) return
          for (const [name, handler] of channel.handlers) if (name === event) handler({ payload })
          server.eventLimit?.count()
          if (!server.eventLimit?.isExceeded()) return
          server.closedChannels++
          channel.close()
        })
      }
    }
  }
  let lastId = 0
  let visibleAt = 0
  const invisible = new Map<number, number>()
  const service = createService({
    people: [{ id: 1, name: 'Ana', email: 'ana@example.com' }, { id: 2, name: 'Bob', email: 'bob@example.com' }],
    conversation: 7,
    // Ids have gaps, because other conversations take some.
    takeId() {
      lastId += 1 + Math.floor(random() * 3)
      // Whoever sees a message sees those before it.
      visibleAt = Math.max(visibleAt, Date.now() + random() * server.network.invisibility)
      if (visibleAt > Date.now()) invisible.set(lastId, visibleAt)
      return lastId
    },
    isVisible: (message) => Date.now() >= (invisible.get(message) ?? 0),
    broadcast(topic, event, payload) {
      server.sentEvents++
      if (server.eventLimit?.isExceeded()) server.droppedEvents++
      else deliver(topic, event, payload)
    },
  })

  /** A supabase-js client as far as the module uses it: requests go through the real one, the rest are fakes. */
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
    const sessionOf = (id: number) => ({ user: { id: `account ${id}` }, access_token: `token ${id} ${++tokens}` })
    let session: ReturnType<typeof sessionOf> | null = sessionOf(me)

    const exchange = async (url: URL, { method = 'GET', headers, body, signal }: RequestInit): Promise<Response> => {
      const { network } = server
      const path = url.pathname.replace('/functions/v1/', '')
      await transfer(network.latency)
      signal?.throwIfAborted()
      if (random() < network.requestLoss) throw new TypeError('fetch failed')
      const caller = Number(new Headers(headers).get('Authorization')?.split(' ')[2])
      const request = `${caller} ${method} ${path}${url.search}`
      const intercepted = server.intercept?.(method, `${body ?? ''}`, path)
      if (intercepted) server.intercepted.push(request)
      if (intercepted) return intercepted
      requests.push(request)
      if (random() < network.overload) {
        const headers = { 'Retry-After': `${server.retryAfter || 2}` }
        return server.retryAfter || random() < 0.5
          ? refusal('rate_limited', 'Too many requests, please try again later', headers)
          : refusal('unavailable', 'The service is busy, please try again')
      }
      const response = server.tokenExpired
        ? refusal('unauthorized', 'The token has expired')
        : body instanceof FormData
        ? service.store(path.split('attachments/')[1]!, body)
        : service.respond(caller, method, path, url.searchParams, body ? JSON.parse(String(body)) : {})
      const text = await response.text()
      await transfer(network.latency)
      if (random() < network.responseLoss) throw new TypeError('terminated')
      return new Response(text || null, response)
    }
    const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
      const aborted = new Promise<never>((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal!.reason))
      })
      const exchanging = exchange(new URL(String(input)), init)
      exchanging.catch(() => {})
      return await Promise.race([exchanging, aborted])
    }
    const real = createClient('http://service', 'sb_publishable_test', {
      accessToken: () => Promise.resolve(session?.access_token ?? null),
      global: { fetch },
      realtime: { transport: ws as never },
    })

    const tellReady = (channel: FakeChannel) => {
      const [, handler] = channel.handlers.find(([event]) => event === 'system') ?? []
      const message = { extension: 'system', status: 'ok', message: 'Replication connection established' }
      if (channel.state === 'joined') handler?.(message)
    }
    const join = async (channel: FakeChannel): Promise<void> => {
      await transfer(server.network.latency)
      if (channel.state === 'closed') return
      const isRefused = control.refuseJoins || control.refused.some((topic) => channel.topic === `realtime:${topic}`)
      channel.state = control.joinsTimeOut || isRefused ? 'errored' : 'joined'
      if (control.joinsTimeOut) return channel.onStatus('TIMED_OUT')
      if (isRefused) return channel.onStatus('CHANNEL_ERROR', new Error('Unauthorized'))
      channel.connection.isOpen = true
      if (channel.topic.includes('user:')) control.newestAtJoin = service.table.at(-1)?.id ?? 0
      channel.onStatus('SUBSCRIBED')
      if (control.readyAfter) setTimeout(tellReady, control.readyAfter, channel)
      else if (control.readyAfter === 0) tellReady(channel)
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
      pendingHeartbeatRef: string | null = null
      endPoint = 'ws://service/realtime/v1/websocket'
      timeout = 10_000
      constructor() {
        connections.push(this)
      }
      getChannels = () => this.channels
      isConnected = () => this.isOpen
      isConnecting = () => control.isConnecting
      connect = () => this.channels.filter(({ state }) => state === 'new').forEach(join)
      async disconnect() {
        log.push(`disconnect ${connections.indexOf(this)}`)
        this.isDisconnecting = true
        await delay(10 * server.network.latency)
        this.isOpen = this.isDisconnecting = false
      }
      /** As in supabase-js, one that has no answer yet when the next is sent ends the connection. */
      async sendHeartbeat() {
        if (this.pendingHeartbeatRef) client.disconnect()
        const sent = this.pendingHeartbeatRef = this.pendingHeartbeatRef ? null : `${Date.now()}`
        await transfer(server.network.latency)
        if (this.pendingHeartbeatRef === sent) this.pendingHeartbeatRef = null
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
          delay(1500).then(() => channel.state === 'errored' ? join(channel) : undefined)
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
      storage: real.storage,
      realtime,
    }
    clients.push(client)
    return client as unknown as Client & typeof client
  }

  return { ...service, service, server, deliver, setNetwork, requests, requestsWith, random, openClient }
}
