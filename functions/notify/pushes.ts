import { createHash } from 'node:crypto'
import { buildPushPayload } from '@block65/webcrypto-web-push'
import { asService } from '../_shared/rpc.ts'
import { settings, vapidKeys } from '../_shared/settings.ts'
import { openChannel, type Outcome } from './channel.ts'
import { post } from './post.ts'

interface Push {
  id: number
  receivers: string[]
  endpoint: string
  keys: { p256dh: string; auth: string }
  subject: number
  data: { type: string; conversation_id: number; id: number; name: string; unread: number; text: string | null }
}

/** Less than a webhook has: push services answer at once, and whoever subscribes may name a host that never does. */
const timeoutMilliseconds = 5000

/** A day: what is older says nothing that opening the app does not. */
const ttl = 86_400

/**
 * A push that the device has not got yet is replaced by the next one of its conversation. Hashed with the device's
 * secret, so that push services cannot tell conversations apart by their numbers.
 */
const topicOf = ({ keys, data }: Push): string =>
  createHash('sha256').update(`${keys.auth} ${data.type} ${data.conversation_id}`).digest('base64url').slice(0, 32)

const send = async (push: Push): Promise<Outcome> => {
  const { id, subject, data } = push
  // The library takes https alone; the push services of tests have no TLS.
  const device = { ...push, endpoint: push.endpoint.replace(/^http:/, 'https:'), expirationTime: null }
  const options = { ttl, topic: topicOf(push), urgency: 'high' as const }
  // If a browser gave keys that encrypt nothing, no push can reach it.
  const request = await buildPushPayload({ data, options }, device, vapidKeys()!).catch(() => null)
  if (!request) return { id, outcome: 'gone' }
  const { 'content-length': _, ...headers } = request.headers
  const reply = await post(
    push.endpoint,
    { headers, body: request.body },
    { allowLoopback: settings.LOOPBACK_TARGETS === 'all', timeoutMilliseconds },
  )
  // RFC 8030: the subscription has expired or was removed.
  if (reply.reason === 'status 404' || reply.reason === 'status 410') return { id, outcome: 'gone' }
  return { id, subject, ...reply }
}

/** Sends the pushes that are due. Twenty accounts whose ten devices never answer leave room for everybody else's. */
export const drainPushes = openChannel<Push>({
  name: 'push',
  total: 96,
  // A device, its owner, and the name of its push service.
  each: [{ bound: 1, isSingle: true }, { bound: 2, isSingle: true }, { bound: 48 }],
  claim: (room, busy) => asService`claim_pushes(max_rows => ${room}, busy => ${busy})`,
  send,
})
