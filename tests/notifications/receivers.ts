// Real servers for what the worker sends: a mail server, a push service that decrypts as a browser does, a webhook.
import { createECDH, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import ece from 'http_ece'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { Webhook } from 'standardwebhooks'
import { listen } from '../tools/ports.ts'

export interface ReceivedMail extends Email {
  recipients: string[]
  header: (name: string) => string | undefined
}

/** A mail server. `reject` may name the status of an answer to a mail. */
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
      const raw = Buffer.concat(await stream.toArray())
      const mail = await PostalMime.parse(raw)
      const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value
      const received = { ...mail, recipients: envelope.rcptTo.map(({ address }) => address), header }
      record(received)
      mails.push(received)
      done()
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.server.address() as { port: number }
  return {
    url: `smtp://user:p%40ss@127.0.0.1:${bound}`,
    port: bound,
    mails,
    control,
    refusals,
    close: () => server.close(),
  }
}

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => Buffer.concat(await request.toArray())

/** What a browser hands out for a subscription, and its secrets. */
export const subscribe = (base: string, name: string = crypto.randomUUID()) => {
  const ecdh = createECDH('prime256v1')
  const [p256dh, auth] = [ecdh.generateKeys(), randomBytes(16)]
  return {
    id: crypto.randomUUID(),
    subscription: {
      endpoint: `${base}/push/${name}`,
      keys: { p256dh: p256dh.toString('base64url'), auth: auth.toString('base64url') },
    },
    name,
    decrypt: (body: Buffer) =>
      JSON.parse(
        String(ece.decrypt(body, { version: 'aes128gcm', privateKey: ecdh, authSecret: auth.toString('base64url') })),
      ),
  }
}

export type Subscriber = ReturnType<typeof subscribe>

export interface ReceivedPush {
  name: string
  headers: IncomingMessage['headers']
  body: Buffer
  at: number
}

/** A push service. `answer` may give another status than 201. */
export const openPushService = async (port = 0, record: (push: ReceivedPush) => void = () => {}) => {
  const pushes: ReceivedPush[] = []
  const control = {
    answer: null as ((name: string) => [status: number, headers?: Record<string, string>] | null) | null,
    /** Which requests get no answer. */
    hangs: null as ((name: string) => boolean) | null,
    /** How many of them are open. */
    hanging: 0,
  }
  const server = createServer(async (request, response) => {
    const name = request.url!.split('/').at(-1)!
    const body = await bodyOf(request)
    if (control.hangs?.(name)) {
      control.hanging++
      response.on('close', () => control.hanging--)
      return
    }
    const [status, headers] = control.answer?.(name) ?? [201]
    const push = { name, headers: request.headers, body, at: Date.now() }
    if (status === 201) {
      record(push)
      pushes.push(push)
    }
    response.writeHead(status, headers).end()
  })
  const bound = await listen(server, port)
  return { base: `http://127.0.0.1:${bound}`, port: bound, pushes, control, close: () => closeNow(server) }
}

const closeNow = (server: Server): void => {
  server.close()
  server.closeAllConnections()
}

export interface ReceivedEvent {
  type: string
  timestamp: string
  data: Record<string, number>
  id: string
}

/** An operator's webhook, which verifies signatures with the specification's own library. */
export const openWebhook = async (port = 0) => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const verifier = new Webhook(secret)
  const events: ReceivedEvent[] = []
  const control: { answer: ((event: ReceivedEvent) => number | null) | null } = { answer: null }
  const server = createServer(async (request, response) => {
    try {
      const headers = request.headers as Record<string, string>
      const body = verifier.verify(String(await bodyOf(request)), headers) as ReceivedEvent
      const event = { ...body, id: headers['webhook-id']! }
      const status = control.answer?.(event) ?? 204
      if (status < 300) events.push(event)
      response.writeHead(status).end()
    } catch {
      response.writeHead(401).end()
    }
  })
  const bound = await listen(server, port)
  return { url: `http://127.0.0.1:${bound}/hook`, port: bound, secret, events, control, close: () => closeNow(server) }
}
