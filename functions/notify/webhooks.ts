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
const signedHeaders = async (key: string, body: string, secret: string): Promise<Record<string, string>> => {
  const id = `msg_${key.replaceAll('-', '')}`
  const timestamp = Math.floor(Date.now() / 1000)
  const bytes = Uint8Array.from(atob(secret.replace(/^whsec_/, '')), (char) => char.charCodeAt(0))
  const signingKey = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
  const signed = await crypto.subtle.sign('HMAC', signingKey, new TextEncoder().encode(`${id}.${timestamp}.${body}`))
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signed)))}`,
  }
}

const send = async ({ id, key, type, timestamp, data, request }: Webhook): Promise<Outcome> => {
  const { url, secret } = webhookTarget()!
  try {
    const body = JSON.stringify({ type, timestamp, data })
    const headers = { ...await signedHeaders(key, body, secret), ...request }
    const { status, retryAfter } = await post(
      url,
      { headers, body: new TextEncoder().encode(body) },
      { allowLoopback: settings.LOOPBACK_TARGETS !== 'none', timeoutMilliseconds },
    )
    if (status >= 200 && status < 300) return { id, outcome: 'sent' }
    return { id, outcome: 'failed', reason: `status ${status}`, retry_after: retryAfter }
  } catch (error) {
    return { id, outcome: 'failed', reason: (error as Error).message }
  }
}

/** Delivers the events that are due, each conversation's in order. */
export const drainWebhooks = openChannel<Webhook>({
  name: 'webhook',
  total: 20,
  claim: (room) => asService`claim_webhooks(${room})`,
  send,
})
