import { createHmac } from 'node:crypto'
import { createClient, type RealtimeChannel, type SupabaseClient } from '@supabase/supabase-js'
import { inject, onTestFinished } from 'vitest'
import ws from 'ws'

const stack = inject('stack')

/** Somebody's supabase-js, as it comes; without a token it is nobody's. It is closed when the test ends. */
export const connect = async (
  token?: string | (() => string),
  options: { key?: string; vsn?: string; origin?: string } = {},
): Promise<SupabaseClient> => {
  const client = createClient(options.origin ?? stack.origin, options.key ?? stack.publishableKey, {
    // Node 20 has no WebSocket of its own.
    realtime: { transport: ws as unknown as typeof WebSocket, ...(options.vsn && { vsn: options.vsn }) },
    ...(token && { accessToken: () => Promise.resolve(typeof token === 'string' ? token : token()) }),
  })
  // Else the first join would go out without the token.
  await client.realtime.setAuth()
  onTestFinished(async () => void await client.realtime.disconnect())
  return client
}

export interface Joined {
  status: string
  reason: string
}

/** Joins, and tells how that went. */
export const join = (channel: RealtimeChannel): Promise<Joined> =>
  new Promise((resolve) => {
    channel.subscribe((status, error) => resolve({ status, reason: error?.message ?? '' }))
  })

interface Heard {
  event: string
  payload: Record<string, unknown>
  meta?: { id: string; replayed?: boolean }
}

/** Joins a private topic and keeps what is broadcast there. */
export const listen = async (
  client: SupabaseClient,
  topic: string,
  broadcast: Record<string, unknown> = {},
): Promise<Joined & { heard: Heard[]; channel: RealtimeChannel }> => {
  const heard: Heard[] = []
  const channel = client.channel(topic, { config: { private: true, broadcast } })
  channel.on('broadcast', { event: '*' }, (message) => heard.push(message as unknown as Heard))
  return { ...await join(channel), heard, channel }
}

/** A token of the same person with other claims, signed as Auth signs. */
export const resign = (token: string, claims: Record<string, unknown>): string => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const original = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  const unsigned = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ ...original, ...claims })}`
  return `${unsigned}.${createHmac('sha256', stack.jwtSecret).update(unsigned).digest('base64url')}`
}
