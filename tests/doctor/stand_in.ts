import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer as createTcpServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { onTestFinished } from 'vitest'
import ws, { WebSocketServer } from 'ws'
import { listen } from '../tools/ports.ts'

export interface Asked {
  method: string
  /** With the query. */
  path: string
  key: string | undefined
  headers: Headers
  body: string
}

export interface Reply {
  status: number
  headers?: Record<string, string>
  body: string
}

type Frame = { topic: string; event: string; ref: string | null; payload: Record<string, unknown> }

/** What differs from the project behind. */
export interface Fault {
  /** The answer to a request, if it is not the project's own. */
  http?: (asked: Asked, forward: (changed?: Partial<Asked>) => Promise<Reply>) => Reply | null | Promise<Reply | null>
  /** The key with which the connection to Realtime is opened. */
  realtimeKey?: string
  /** The reply to a join, if it is not the project's own. */
  join?: (topic: string, payload: Frame['payload']) => { status: string; response: Record<string, unknown> } | null
  /** What Realtime sends first. */
  noise?: string
  /** Whether Realtime's frame reaches the client. */
  forwards?: (frame: Frame) => boolean
}

const skippedHeaders = new Set(['connection', 'content-length', 'transfer-encoding', 'content-encoding', 'host'])
const headersOf = (headers: Headers): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => !skippedHeaders.has(name)))

const answerHttp = async (origin: string, fault: Fault, request: IncomingMessage, response: ServerResponse) => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    if (!skippedHeaders.has(name)) headers.set(name, String(value))
  }
  const asked: Asked = {
    method: request.method!,
    path: request.url!,
    key: headers.get('apikey') ?? undefined,
    headers,
    body: Buffer.concat(await request.toArray()).toString(),
  }
  const forward = async (changed: Partial<Asked> = {}): Promise<Reply> => {
    const { method, path, headers, body } = { ...asked, ...changed }
    const answer = await fetch(origin + path, { method, headers, ...(body && { body }), redirect: 'manual' })
    return { status: answer.status, headers: headersOf(answer.headers), body: await answer.text() }
  }
  const reply = await fault.http?.(asked, forward) ?? await forward()
  response.writeHead(reply.status, reply.headers ?? { 'Content-Type': 'application/json' }).end(reply.body)
}

const bridgeRealtime = (origin: string, fault: Fault, client: ws, path: string) => {
  const url = new URL(path, origin.replace('http', 'ws'))
  if (fault.realtimeKey) url.searchParams.set('apikey', fault.realtimeKey)
  const server = new ws(url)
  if (fault.noise) client.send(fault.noise)
  const waiting: string[] = []
  server.on('open', () => waiting.splice(0).forEach((text) => server.send(text)))
  client.on('message', (data) => {
    const frame = JSON.parse(String(data)) as Frame
    const reply = frame.event === 'phx_join' && fault.join?.(frame.topic.replace('realtime:', ''), frame.payload)
    if (reply) return client.send(JSON.stringify({ ...frame, event: 'phx_reply', payload: reply }))
    if (server.readyState === ws.OPEN) server.send(String(data))
    else waiting.push(String(data))
  })
  server.on('message', (data) => {
    if (fault.forwards?.(JSON.parse(String(data))) ?? true) client.send(String(data))
  })
  server.on('close', () => client.close())
  server.on('error', () => client.close())
  client.on('close', () => server.close())
}

const upgrade = (origin: string, fault: Fault) => {
  const sockets = new WebSocketServer({ noServer: true })
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // Whether Realtime accepts the key is known only before the handshake.
    const url = new URL(request.url!, origin)
    if (!fault.realtimeKey && !url.searchParams.get('apikey')?.endsWith('_test')) {
      return void socket.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n\r\n')
    }
    sockets.handleUpgrade(request, socket, head, (client) => bridgeRealtime(origin, fault, client, request.url!))
  }
}

interface Certificate {
  key: string
  cert: string
}

/** A server that takes TLS, and on the same port HTTP, which it answers by itself. */
const listenWithTls = async (secure: Server, plain: Server): Promise<number> => {
  const ports = [await listen(secure), await listen(plain)] as const
  const front = createTcpServer((socket) => {
    socket.once('data', (first) => {
      socket.pause()
      // A TLS handshake begins with 22.
      const behind = connect(first[0] === 22 ? ports[0] : ports[1], '127.0.0.1')
      behind.write(first)
      socket.pipe(behind).pipe(socket)
      for (const end of [socket, behind]) end.on('error', () => (socket.destroy(), behind.destroy()))
    })
    socket.on('error', () => socket.destroy())
  })
  onTestFinished(() => void front.close())
  return await listen(front)
}

/** The local stack but for a fault; with a certificate it is https://0.0.0.0, which is no loopback address. */
export const openStandIn = async (
  origin: string,
  fault: Fault,
  certificate?: Certificate,
  plain: (response: ServerResponse) => void = (response) => response.writeHead(301, { Location: 'https://a/' }).end(),
): Promise<string> => {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    answerHttp(origin, fault, request, response).catch((error) => response.writeHead(599).end(String(error)))
  }
  const server = certificate ? createTlsServer(certificate, handle) : createServer(handle)
  server.on('upgrade', upgrade(origin, fault))
  const redirect = createServer((_, response) => plain(response))
  onTestFinished(() => {
    for (const one of [server, redirect]) {
      one.closeAllConnections()
      one.close()
    }
  })
  if (certificate) return `https://0.0.0.0:${await listenWithTls(server, redirect)}`
  return `http://127.0.0.1:${await listen(server)}`
}
