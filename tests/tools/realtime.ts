import { createClient, type RealtimeChannel, type SupabaseClient } from '@supabase/supabase-js'
import { inject, onTestFinished } from 'vitest'
import ws from 'ws'
import { claimsOf, signToken } from './jwt.ts'

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

export interface Joined {
  status: string
  reason: string
}

/** Joins a channel and resolves with the outcome. */
export const join = (channel: RealtimeChannel): Promise<Joined> =>
  new Promise((resolve) => {
    channel.subscribe((status, error) => resolve({ status, reason: error?.message ?? '' }))
  })

interface Heard {
  event: string
  payload: Record<string, unknown>
  meta?: { id: string; replayed?: boolean }
}

/** Joins a private topic and collects its broadcasts. */
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

/** The token with changed claims and a valid signature. */
export const resign = (token: string, claims: Record<string, unknown>): string =>
  signToken({ alg: 'HS256', typ: 'JWT' }, { ...claimsOf(token), ...claims }, stack.jwtSecret)
