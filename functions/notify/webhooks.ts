import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'
import type { RequestIds } from '../_shared/log.ts'
import { asService } from '../_shared/rpc.ts'
import { settings, webhookTarget } from '../_shared/settings.ts'
import { openChannel, type Outcome } from './channel.ts'
import { post } from './post.ts'

interface Webhook {
  id: number
  key: string
  type: string
  timestamp: string
  data: Record<string, unknown>
  request: RequestIds | null
}

/** Less than the 15 s after which another worker may claim the row. */
const timeoutMilliseconds = 10_000

/** The headers of the Standard Webhooks specification; `secret` is `whsec_` and the key in base64. */
const signedHeaders = (key: string, body: string, secret: string): Record<string, string> => {
  const id = `msg_${key.replaceAll('-', '')}`
  const timestamp = Math.floor(Date.now() / 1000)
  const hmac = createHmac('sha256', Buffer.from(secret.replace(/^whsec_/, ''), 'base64'))
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${hmac.update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  }
}

const send = async ({ id, key, type, timestamp, data, request }: Webhook): Promise<Outcome> => {
  const { url, secret } = webhookTarget()!
  const text = JSON.stringify({ type, timestamp, data })
  const headers = { ...signedHeaders(key, text, secret), ...request }
  const allowLoopback = settings.LOOPBACK_TARGETS !== 'none'
  const body = new TextEncoder().encode(text)
  const reply = await post(url, { headers, body }, { allowLoopback, timeoutMilliseconds })
  return { id, ...reply }
}

/** Delivers the events that are due, each conversation's in order. */
export const drainWebhooks = openChannel<Webhook>({
  name: 'webhook',
  total: 20,
  claim: (room) => asService`claim_webhooks(${room})`,
  send,
})
