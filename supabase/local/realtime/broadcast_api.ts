import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { BodyError, readBody } from '../body.ts'
import { maxPayload } from './connection.ts'
import { type Identity, isUserToken, RealtimeError } from './identity.ts'
import { type Broadcast, isRecord } from './protocol.ts'
import type { Services } from './services.ts'

interface Message {
  topic: string
  broadcast: Broadcast
  isPrivate: boolean
}

const maxMessages = 100

const messageOf = (value: unknown): Message | null => {
  if (!isRecord(value)) return null
  const { topic, event, payload, private: isPrivate } = value
  if (typeof topic !== 'string' || topic === '' || typeof event !== 'string' || !isRecord(payload)) return null
  return { topic, broadcast: { event, payload: JSON.stringify(payload) }, isPrivate: isPrivate === true }
}

/** Broadcast over HTTP: httpSend() calls it, and send() before its channel has joined. */
export const openBroadcastApi = ({ hub, authorize, identify }: Services): Hono => {
  const api = new Hono()
  api.use(cors({ origin: '*' }))
  api.use(async (c, next) => {
    // Read the whole body first, so that a slow client delays nobody.
    const { raw } = c.req
    if (raw.body) c.req.raw = new Request(raw, { body: await readBody(raw.body, { bytes: maxPayload }) })
    await next()
  })

  const callerOf = async (c: Context): Promise<Identity> => {
    const bearer = c.req.header('Authorization')?.replace(/^Bearer /i, '')
    const key = c.req.header('apikey') ?? c.req.query('apikey')
    return await identify((isUserToken(bearer) ? bearer : key ?? bearer) ?? '')
  }

  /**
   * Sends the messages that the caller may send; returns whether all private ones were sent. Public messages reach
   * nobody, because this project has no public channels.
   */
  const send = async (caller: Identity, messages: Message[]): Promise<boolean> => {
    const writable = new Set<string>()
    for (const topic of new Set(messages.filter(({ isPrivate }) => isPrivate).map(({ topic }) => topic))) {
      if ((await authorize(topic, caller)).canWrite.includes('broadcast')) writable.add(topic)
    }
    const allowed = messages.filter(({ topic, isPrivate }) => isPrivate && writable.has(topic))
    for (const { topic, broadcast } of allowed) hub.broadcast(topic, broadcast)
    return messages.every((message) => !message.isPrivate || allowed.includes(message))
  }

  api.onError((error, c) => {
    if (error instanceof RealtimeError) return c.json({ error: error.text }, 401)
    if (error instanceof BodyError) {
      return c.json({ error: error.status === 413 ? 'Payload size exceeds 3 MB' : error.message }, error.status)
    }
    throw error
  })

  api.post('/broadcast', async (c) => {
    const caller = await callerOf(c)
    const body: unknown = await c.req.json().catch(() => null)
    const values = isRecord(body) && Array.isArray(body.messages) ? body.messages : []
    const messages = values.map(messageOf).filter((message) => message !== null)
    if (values.length === 0 || values.length > maxMessages || messages.length < values.length) {
      return c.json({ error: `messages must be 1 to ${maxMessages} of {topic, event, payload, private}` }, 422)
    }
    // The platform also drops unauthorized messages of a batch silently.
    await send(caller, messages)
    return c.body(null, 202)
  })

  api.post('/broadcast/:topic/events/:event', async (c) => {
    const caller = await callerOf(c)
    const { topic, event } = c.req.param()
    const isPrivate = c.req.query('private') === 'true'
    const respond = async (broadcast: Broadcast) =>
      await send(caller, [{ topic, broadcast, isPrivate }])
        ? c.body(null, 202)
        : c.json({ message: 'Unauthorized' }, 403)
    if (c.req.header('Content-Type')?.startsWith('application/octet-stream')) {
      return await respond({ event, payload: new Uint8Array(await c.req.arrayBuffer()) })
    }
    const payload = await c.req.json().catch(() => undefined)
    if (payload === undefined) return c.json({ error: 'The payload must be JSON' }, 422)
    return await respond({ event, payload: JSON.stringify(payload) })
  })
  return api
}
