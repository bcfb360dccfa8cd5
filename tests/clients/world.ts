import { createClient } from '@supabase/supabase-js'
import ws from 'ws'
import type { Client, Draft, Hint, Message } from '../../clients/shapes.ts'
import { numbersFrom } from '../tools/random.ts'

/** How badly the network behaves, as shares of 1. */
export interface Weather {
  dropped: number
  doubled: number
  /** Longest delay of an event, in milliseconds: the longer, the more they overtake each other. */
  delay: number
  /** Requests that do not arrive, and answers that do not. */
  unsent: number
  unanswered: number
  /** Answers 503 or 429 instead of work. */
  busy: number
  /** Longest time of a request, each way. */
  slowness: number
}

export const calm: Weather = { dropped: 0, doubled: 0, delay: 5, unsent: 0, unanswered: 0, busy: 0, slowness: 5 }
export const storm: Weather = {
  dropped: 0.3,
  doubled: 0.2,
  delay: 4000,
  unsent: 0.1,
  unanswered: 0.15,
  busy: 0.1,
  slowness: 1500,
}

type Heard = (status: string, error?: Error) => void
interface FakeChannel {
  topic: string
  state: 'new' | 'joined' | 'errored' | 'closed'
  hearers: [event: string, hear: (message: { payload: unknown }) => void][]
  heard: Heard
  on(type: string, filter: { event: string }, hear: (message: { payload: unknown }) => void): FakeChannel
  subscribe(heard: Heard): FakeChannel
  send(message: { event: string; payload: unknown }): Promise<string>
}

/** The service and its network in memory: one conversation of Ana, 1, and Bob, 2, and as many clients as are wanted. */
export const openWorld = (seed = 1) => {
  const random = numbersFrom(seed)
  const people = [{ id: 1, name: 'Ana' }, { id: 2, name: 'Bob' }]
  const conversation = 7
  const table: Message[] = []
  const receipts = new Map<string, Message>()
  const clients: { readonly channels: FakeChannel[] }[] = []
  /** Every request that reached the service, as "1 GET conversations". */
  const requests: string[] = []
  const world = {
    weather: calm,
    nextId: 1,
    expired: false,
    refreshedAt: 0,
    reservations: [] as unknown[],
    /** Whom each of the two has blocked. */
    blocked: {} as Record<number, number[]>,
    /** Where it is set, who is busy answers 429 with it, in seconds; else 503 as often. */
    retryAfter: 0,
    /** Answers in the service's place, as a proxy or the log-in page of a network does; null lets the request through. */
    stranger: null as ((method: string, body: string) => Response | null) | null,
  }

  const later = (most: number) => new Promise<void>((resolve) => setTimeout(resolve, random() * most))

  const deliver = (topic: string, event: string, payload: unknown, except?: FakeChannel) => {
    for (const { channels } of clients) {
      for (const channel of channels.filter((known) => known.topic === `realtime:${topic}` && known !== except)) {
        const times = random() < world.weather.dropped ? 0 : random() < world.weather.doubled ? 2 : 1
        for (let time = 0; time < times; time++) {
          later(world.weather.delay).then(() => {
            if (channel.state !== 'joined') return
            for (const [name, hear] of channel.hearers) if (name === event) hear({ payload })
          })
        }
      }
    }
  }
  const tell = (event: string, hint: Omit<Hint, 'conversation_id'>) => {
    for (const { id } of people) deliver(`user:${id}`, event, { conversation_id: conversation, ...hint })
  }

  /** Blocks the other one, or takes it back; as on the platform, whoever is on the topic of the two stays there. */
  const block = (blocker: number, isOn: boolean) => {
    const user_id = 3 - blocker
    world.blocked[blocker] = isOn ? [user_id] : []
    deliver(`user:${blocker}`, 'block.changed', {
      conversation_id: conversation,
      id: null,
      previous_id: null,
      user_id,
    })
  }

  /** Writes a message as the database does: the next id, some being other people's. */
  const write = (sender: number, { content, attachment = null }: Draft): Message => {
    const previous_id = table.at(-1)?.id ?? null
    world.nextId += 1 + Math.floor(random() * 3)
    const message: Message = {
      id: world.nextId,
      user_id: sender,
      conversation_id: conversation,
      content,
      attachment,
      read: false,
      createdAt: new Date().toISOString(),
      Sender: people[sender - 1]!,
    }
    table.push(message)
    tell('message.created', { id: message.id, previous_id, user_id: sender })
    return { ...message }
  }
  const markRead = (reader: number, upTo: number, alone = false) => {
    const marked = table.filter(({ id, user_id, read }) =>
      (alone ? id === upTo : id <= upTo) && user_id !== reader && !read
    )
    for (const message of marked) message.read = true
    const newest = marked.at(-1)
    if (newest) tell('message.read', { id: newest.id, previous_id: null, user_id: reader })
  }

  const refusal = (status: number, error: string, headers = {}) => Response.json({ error }, { status, headers })
  const page = (messages: Message[], more: boolean) =>
    Response.json(messages, { headers: more ? { Link: '<http://service/next>; rel="next"' } : {} })

  const answer = (me: number, method: string, url: URL, body: Record<string, unknown>): Response => {
    const path = url.pathname.replace('/functions/v1/', '')
    const number = (name: string) => Number(url.searchParams.get(name) ?? 0)
    switch (`${method} ${path}`) {
      case 'GET users/me':
        return Response.json({ ...people[me - 1], email: 'somebody@example.com' })
      case 'GET users/me/blocks':
        return Response.json(
          (world.blocked[me] ?? []).map((id) => ({ user_id: id, name: '', createdAt: new Date().toISOString() })),
        )
      case 'GET conversations':
        return Response.json([{ id: conversation, Messages: table.slice(-1) }])
      case 'GET conversations/unread': {
        const unread = table.filter(({ read, user_id }) => !read && user_id !== me).length
        return Response.json({
          total: unread,
          conversations: unread ? [{ conversation_id: conversation, unread }] : [],
        })
      }
      case 'POST conversations':
        return Response.json({ error: 'There is one', conversation_id: conversation }, { status: 409 })
      case `GET conversations/${conversation}`:
        return Response.json({ id: 7, Voyager: people[0], Local: people[1], Reservations: world.reservations })
      case `GET conversations/${conversation}/messages`: {
        const limit = number('limit')
        const after = number('after_id')
        if (after || url.searchParams.get('order') === 'asc') {
          const rest = table.filter(({ id }) => id > after)
          return page(rest.slice(0, limit), rest.length > limit)
        }
        const before = number('before_id') || Infinity
        const rest = table.filter(({ id }) => id < before).reverse()
        return page(rest.slice(0, limit), rest.length > limit)
      }
      case `POST conversations/${conversation}/messages`: {
        if (body.content === 'rude') return refusal(403, 'You cannot write to this person')
        const key = body.client_id as string
        const sent = receipts.get(key) ?? write(me, body as unknown as Draft)
        receipts.set(key, sent)
        return Response.json(sent, { status: 201 })
      }
      case `POST conversations/${conversation}/read`:
        markRead(me, Number(body.up_to_message_id))
        return Response.json({ success: true })
      default:
        return refusal(404, 'Conversation not found')
    }
  }

  /** A client of supabase-js as far as this module uses it: what asks is real, what listens is not. */
  const openClient = (me: number) => {
    const log: string[] = []
    const control = { refused: false, refreshFails: false, refreshHelps: true, newestAtJoin: 0 }
    let channels: FakeChannel[] = []
    let listener: ((event: string, session: unknown) => void) | undefined
    let tokens = 0
    const sessionOf = (person: number) => ({
      user: { id: `account ${person}` },
      access_token: `token ${person} ${++tokens}`,
    })
    let session: ReturnType<typeof sessionOf> | null = sessionOf(me)

    const fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
      const { weather } = world
      const aborted = new Promise<never>((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(init.signal!.reason))
      })
      const work = async () => {
        const url = new URL(String(input))
        const method = init.method ?? 'GET'
        await later(weather.slowness)
        init.signal?.throwIfAborted()
        if (random() < weather.unsent) throw new TypeError('fetch failed')
        const strange = world.stranger?.(method, `${init.body ?? ''}`)
        if (strange) return strange
        const caller = Number(new Headers(init.headers).get('Authorization')?.split(' ')[2])
        requests.push(`${caller} ${method} ${url.pathname.replace('/functions/v1/', '')}${url.search}`)
        if (random() < weather.busy) {
          return world.retryAfter || random() < 0.5
            ? refusal(429, 'Too many requests', { 'Retry-After': `${world.retryAfter || 2}` })
            : refusal(503, 'The service is busy, please try again')
        }
        if (world.expired) {
          await later(weather.slowness)
          return refusal(401, 'The token has expired')
        }
        const body = init.body ? JSON.parse(String(init.body)) : {}
        const response = answer(caller, method, url, body)
        const text = await response.text()
        await later(weather.slowness)
        if (random() < weather.unanswered) throw new TypeError('terminated')
        return new Response(text, response)
      }
      const working = work()
      working.catch(() => {})
      return await Promise.race([working, aborted])
    }
    const real = createClient('http://service', 'sb_publishable_test', {
      accessToken: () => Promise.resolve(session?.access_token ?? null),
      global: { fetch },
      realtime: { transport: ws as never },
    })

    const settle = (channel: FakeChannel) => {
      later(world.weather.slowness).then(() => {
        if (channel.state === 'closed') return
        if (control.refused) {
          channel.state = 'errored'
          channel.heard('CHANNEL_ERROR', new Error('Unauthorized'))
          return
        }
        channel.state = 'joined'
        if (channel.topic.includes('user:')) control.newestAtJoin = table.at(-1)?.id ?? 0
        channel.heard('SUBSCRIBED')
      })
    }
    const end = (channel: FakeChannel) => {
      if (channel.state === 'closed') return
      channel.state = 'closed'
      channels = channels.filter((known) => known !== channel)
      channel.heard('CLOSED')
    }

    const client = {
      log,
      control,
      get channels() {
        return channels
      },
      get isListening() {
        return listener !== undefined
      },
      /** The socket is cut; supabase-js joins again by itself. */
      cut() {
        for (const channel of channels.filter(({ state }) => state === 'joined')) {
          channel.state = 'errored'
          channel.heard('CHANNEL_ERROR')
          later(1500).then(() => channel.state === 'errored' && settle(channel))
        }
      },
      /** The server ends the channels, as it does when a token expires; supabase-js leaves them ended. */
      end: () => channels.forEach(end),
      signOut: () => {
        session = null
        listener?.('SIGNED_OUT', null)
      },
      /** Somebody signs in on this client, or the same one again; another tab that does leaves the event for later. */
      signIn: (person: number, elsewhere = false) => {
        session = sessionOf(person)
        if (!elsewhere) listener?.('SIGNED_IN', session)
      },
      auth: {
        getSession: () => Promise.resolve({ data: { session }, error: null }),
        refreshSession: async () => {
          log.push('refreshSession')
          await later(world.weather.slowness)
          if (control.refreshFails) return { error: new Error('Invalid Refresh Token') }
          world.expired &&= !control.refreshHelps
          world.refreshedAt = Date.now()
          session &&= { ...session, access_token: `${session.access_token} again` }
          return { error: null }
        },
        onAuthStateChange: (hear: (event: string, session: unknown) => void) => {
          listener = hear
          return { data: { subscription: { unsubscribe: () => listener = undefined } } }
        },
      },
      functions: real.functions,
      realtime: {
        setAuth: async () => {
          await later(world.weather.slowness)
          log.push('setAuth')
        },
      },
      getChannels: () => channels,
      channel(topic: string, options: unknown): FakeChannel {
        const before = channels.find((known) => known.topic === `realtime:${topic}`)
        if (before) return before
        log.push(`channel ${topic} ${JSON.stringify(options)}`)
        const channel: FakeChannel = {
          topic: `realtime:${topic}`,
          state: 'new',
          hearers: [],
          heard: () => {},
          on(_, { event }, hear) {
            channel.hearers.push([event, hear])
            return channel
          },
          subscribe(heard) {
            // The real one says nothing at all to whoever subscribes to a channel that is joined or leaving.
            if (channel.state !== 'new') return channel
            log.push(`subscribe ${topic}`)
            channel.heard = heard
            settle(channel)
            return channel
          },
          send({ event, payload }) {
            log.push(`send ${topic} ${event}`)
            deliver(topic, event, payload, channel)
            return Promise.resolve('ok')
          },
        }
        channels.push(channel)
        return channel
      },
      async removeChannel(channel: FakeChannel) {
        log.push(`remove ${channel.topic}`)
        await later(world.weather.slowness)
        end(channel)
        return 'ok'
      },
    }
    clients.push(client)
    return client
  }

  return {
    world,
    table,
    requests,
    block,
    conversation,
    random,
    write,
    markRead,
    openClient,
    asClient: (client: ReturnType<typeof openClient>) => client as unknown as Client,
    tell,
  }
}
