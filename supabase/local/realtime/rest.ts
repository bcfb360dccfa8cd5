import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { BodyRefused, readBody } from '../body.ts'
import type { Services } from './channel.ts'
import { largestPayload } from './connection.ts'
import { type Identity, isPersonal, Refusal } from './identity.ts'
import { type Announcement, isRecord } from './protocol.ts'

interface Letter {
  topic: string
  announcement: Announcement
  isPrivate: boolean
}

const mostMessages = 100

const letterOf = (message: unknown): Letter | null => {
  if (!isRecord(message)) return null
  const { topic, event, payload, private: isPrivate } = message
  if (typeof topic !== 'string' || topic === '' || typeof event !== 'string' || !isRecord(payload)) return null
  return { topic, announcement: { event, payload: JSON.stringify(payload) }, isPrivate: isPrivate === true }
}

/** Broadcasting without a connection: what httpSend() calls, and send() before its channel has joined. */
export const restOf = ({ hub, rights, identify }: Services): Hono => {
  const rest = new Hono()
  rest.use(cors({ origin: '*' }))
  rest.use(async (c, next) => {
    // Whole before anything is done with it, so that a slow client is not waited for.
    const { raw } = c.req
    if (raw.body) c.req.raw = new Request(raw, { body: await readBody(raw.body, { bytes: largestPayload }) })
    await next()
  })

  const callerOf = async (c: Context): Promise<Identity> => {
    const bearer = c.req.header('Authorization')?.replace(/^Bearer /i, '')
    const key = c.req.header('apikey') ?? c.req.query('apikey')
    return await identify((isPersonal(bearer) ? bearer : key ?? bearer) ?? '')
  }

  /** Sends what may be sent; whether that was all of it. What is not private reaches nobody, because nobody is on a public topic. */
  const post = async (caller: Identity, letters: Letter[]): Promise<boolean> => {
    const open = new Set<string>()
    for (const topic of new Set(letters.filter(({ isPrivate }) => isPrivate).map(({ topic }) => topic))) {
      if ((await rights(topic, caller)).speaks.includes('broadcast')) open.add(topic)
    }
    const allowed = letters.filter(({ topic, isPrivate }) => isPrivate && open.has(topic))
    for (const { topic, announcement } of allowed) hub.announce(topic, announcement)
    return letters.every((letter) => !letter.isPrivate || allowed.includes(letter))
  }

  rest.onError((error, c) => {
    if (error instanceof Refusal) return c.json({ error: error.words }, 401)
    if (error instanceof BodyRefused) {
      return c.json({ error: error.status === 413 ? 'Payload size exceeds 3 MB' : error.message }, error.status)
    }
    throw error
  })

  rest.post('/broadcast', async (c) => {
    const caller = await callerOf(c)
    const body: unknown = await c.req.json().catch(() => null)
    const messages = isRecord(body) && Array.isArray(body.messages) ? body.messages : []
    const letters = messages.map(letterOf).filter((letter) => letter !== null)
    if (messages.length === 0 || messages.length > mostMessages || letters.length < messages.length) {
      return c.json({ error: `messages must be 1 to ${mostMessages} of {topic, event, payload, private}` }, 422)
    }
    // The platform, too, drops of a batch what may not be sent, and says nothing of it.
    await post(caller, letters)
    return c.body(null, 202)
  })

  rest.post('/broadcast/:topic/events/:event', async (c) => {
    const caller = await callerOf(c)
    const { topic, event } = c.req.param()
    const isPrivate = c.req.query('private') === 'true'
    const answer = async (announcement: Announcement) =>
      await post(caller, [{ topic, announcement, isPrivate }])
        ? c.body(null, 202)
        : c.json({ message: 'Unauthorized' }, 403)
    if (c.req.header('Content-Type')?.startsWith('application/octet-stream')) {
      return await answer({ event, payload: new Uint8Array(await c.req.arrayBuffer()) })
    }
    const payload = await c.req.json().catch(() => undefined)
    if (payload === undefined) return c.json({ error: 'The payload must be JSON' }, 422)
    return await answer({ event, payload: JSON.stringify(payload) })
  })
  return rest
}
