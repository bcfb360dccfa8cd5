import { createClient, type RealtimeChannel, type SupabaseClient } from '@supabase/supabase-js'
import { inject, onTestFinished } from 'vitest'
import ws from 'ws'
import { claimsOf, signToken } from './jwt.ts'
import { type Person, signUp } from './people.ts'
import { until } from './wait.ts'

const stack = inject('stack')

/** A supabase-js client, with this token or anonymous. It is closed when the test ends. */
export const connect = async (
  token?: string | (() => string),
  options: { key?: string; vsn?: string; origin?: string } = {},
): Promise<SupabaseClient> => {
  const client = createClient(options.origin ?? stack.origin, options.key ?? stack.publishableKey, {
    // Node 20 has no WebSocket.
    realtime: { transport: ws as unknown as typeof WebSocket, ...(options.vsn && { vsn: options.vsn }) },
    ...(token && { accessToken: () => Promise.resolve(typeof token === 'string' ? token : token()) }),
  })
  // Otherwise the first join is sent without the token.
  await client.realtime.setAuth()
  onTestFinished(async () => void await client.realtime.disconnect())
  return client
}

export type Joined = { status: string; reason: string }

export const join = (channel: RealtimeChannel): Promise<Joined> =>
  new Promise((resolve) => {
    channel.subscribe((status, error) => resolve({ status, reason: error?.message ?? '' }))
  })

type ReceivedBroadcast = { event: string; payload: Record<string, unknown>; meta?: { id: string; replayed?: boolean } }
export interface Listener extends Joined {
  broadcasts: ReceivedBroadcast[]
  errors: string[]
  channel: RealtimeChannel
}

/**
 * Joins a private topic and collects its broadcasts. Resolves when the join is refused, or the server passes on what
 * the database sends, which Supabase's begins some time after the join.
 */
export const listen = async (
  client: SupabaseClient,
  topic: string,
  broadcast: Record<string, unknown> = {},
  presence?: { key: string },
): Promise<Listener> => {
  const [broadcasts, errors]: [ReceivedBroadcast[], string[]] = [[], []]
  let isReady = false
  const config = { private: true, broadcast: { replication_ready: true, ...broadcast }, ...(presence && { presence }) }
  const channel = client.channel(topic, { config })
  channel.on('broadcast', { event: '*' }, (message) => broadcasts.push(message as unknown as ReceivedBroadcast))
  if (presence) channel.on('presence', { event: 'sync' }, () => {})
  channel.on('system', {}, ({ status, message }) => {
    if (status === 'error') errors.push(message)
    else if (message === 'Replication connection established') isReady = true
  })
  const joined = await join(channel)
  if (joined.status === 'SUBSCRIBED') await until(() => isReady || errors.length > 0, 60)
  return { ...joined, broadcasts, errors, channel }
}

/** A device on which a person listens to their own topic. */
export interface Device extends Listener {
  person: Person
}
export const openDevice = async (person: Person, options: Parameters<typeof connect>[1] = {}): Promise<Device> => ({
  person,
  ...await listen(await connect(person.token, options), `user:${person.id}`),
})

const strangers = new Set<unknown>()
/**
 * The events on these devices, when nothing more can come of what has happened: each of the people blocks a stranger,
 * of which the database tells them alone, and after everything else.
 */
export const received = async (...devices: Device[]) => {
  const { id } = await signUp('Stranger')
  strangers.add(id)
  for (const person of new Set(devices.map(({ person }) => person))) await person.call('PUT', `/users/me/blocks/${id}`)
  await until(() => devices.every(({ broadcasts }) => broadcasts.some(({ payload }) => payload.user_id === id)))
  return devices.map(({ broadcasts }) =>
    broadcasts.filter(({ payload }) => !strangers.has(payload.user_id))
      .map(({ event, payload }) => ({ event, payload }))
  )
}

/** The token with changed claims and a valid signature. */
export const resign = (token: string, claims: Record<string, unknown>): string =>
  signToken({ alg: 'HS256', typ: 'JWT' }, { ...claimsOf(token), ...claims }, stack.jwtSecret)
