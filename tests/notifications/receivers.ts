// Real servers for what the worker sends: a mail server, a push service that decrypts as a browser does, a webhook.
import { createECDH, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import ece from 'http_ece'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { listen } from '../tools/ports.ts'

export interface ReceivedMail extends Email {
  recipients: string[]
  header: (name: string) => string | undefined
}

/** A mail server, which tells `record` of a mail before it answers. `reject` may name the status of an answer. */
export const openMailServer = async (port = 0, record: (mail: ReceivedMail) => void = () => {}) => {
  const mails: ReceivedMail[] = []
  const control = { reject: null as ((to: string) => number | null) | null, hang: false }
  /** How many recipients were refused on each connection. */
  const refusals = new Map<string, number>()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onAuth: ({ username, password }, _, done) =>
      username === 'user' && password === 'p@ss' ? done(null, { user: 'user' }) : done(new Error('Wrong')),
    onConnect: (_, done) => {
      if (!control.hang) done()
    },
    onRcptTo: ({ address }, { id }, done) => {
      const status = control.reject?.(address)
      if (status) refusals.set(id, (refusals.get(id) ?? 0) + 1)
      done(status ? Object.assign(new Error(`No mail for ${address}`), { responseCode: status }) : null)
    },
    onData: async (stream, { envelope }, done) => {
      const mail = await PostalMime.parse(Buffer.concat(await stream.toArray()))
      const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value
      const received = { ...mail, recipients: envelope.rcptTo.map(({ address }) => address), header }
      record(received)
      mails.push(received)
      done()
    },
  })
  server.on('error', () => {})
  const bound = await listen(server.server, port)
  return { url: `smtp://user:p%40ss@127.0.0.1:${bound}`, mails, control, refusals, close: () => server.close() }
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => Buffer.concat(await request.toArray())
const openHttpServer = async (handle: RequestListener, port: number) => {
  const server = createServer(handle)
  const base = `http://127.0.0.1:${await listen(server, port)}`
  return { base, close: () => void server.close().closeAllConnections() }
}

/** What a browser hands out for a subscription, and its secrets. */
export const subscribe = (base: string, name: string = crypto.randomUUID()) => {
  const ecdh = createECDH('prime256v1')
  const [p256dh, secret] = [ecdh.generateKeys().toString('base64url'), randomBytes(16).toString('base64url')]
  return {
    id: crypto.randomUUID(),
    subscription: { endpoint: `${base}/push/${name}`, keys: { p256dh, auth: secret } },
    name,
    decrypt: (body: Buffer) =>
      JSON.parse(String(ece.decrypt(body, { version: 'aes128gcm', privateKey: ecdh, authSecret: secret }))),
  }
}
export type Subscriber = ReturnType<typeof subscribe>

export type ReceivedPush = { name: string; headers: IncomingMessage['headers']; body: Buffer }

/** A push service. `answer` may give another status than 201; those that `hangs` names get none. */
export const openPushService = async (port = 0, record: (push: ReceivedPush) => void = () => {}) => {
  const pushes: ReceivedPush[] = []
  const control = {
    answer: null as ((name: string) => [status: number, headers?: Record<string, string>] | null) | null,
    hangs: null as ((name: string) => boolean) | null,
    /** How many requests hang, and the most that did at once. */
    hanging: 0,
    mostHanging: 0,
  }
  const server = await openHttpServer(async (request, response) => {
    const name = request.url!.split('/').at(-1)!
    const body = await bodyOf(request)
    if (control.hangs?.(name)) {
      control.mostHanging = Math.max(control.mostHanging, ++control.hanging)
      return void response.on('close', () => control.hanging--)
    }
    const [status, headers] = control.answer?.(name) ?? [201]
    const push = { name, headers: request.headers, body }
    if (status === 201) {
      record(push)
      pushes.push(push)
    }
    response.writeHead(status, headers).end()
  }, port)
  return { ...server, pushes, control }
}

export type ReceivedEvent = { type: string; data: Record<string, number>; id: string; request: (string | undefined)[] }

/** An operator's webhook, which verifies signatures with the specification's own library. */
export const openWebhook = async () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const verifier = new Webhook(secret)
  const events: ReceivedEvent[] = []
  const { base, close } = await openHttpServer(async (request, response) => {
    try {
      const headers = request.headers as Record<string, string>
      const body = verifier.verify(String(await bodyOf(request)), headers) as ReceivedEvent
      events.push({ ...body, id: headers['webhook-id']!, request: [headers['x-request-id'], headers.traceparent] })
      response.writeHead(204).end()
    } catch {
      response.writeHead(401).end()
    }
  }, 0)
  return { url: `${base}/hook`, secret, events, close }
}
