import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import { listen } from './ports.ts'

type Forwarded = { target: URL; headers: IncomingHttpHeaders }

/** One origin in front of several servers, for HTTP and WebSockets. */
export const openProxy = async (targetOf: (request: IncomingMessage) => Forwarded) => {
  const server = createServer((request, response) => {
    const { target, headers } = targetOf(request)
    const upstream = send(target, { method: request.method!, headers }, (answer) => {
      // What follows of a body that was refused half-way must not be taken for the next request.
      const closing = request.complete ? {} : { connection: 'close' }
      response.writeHead(answer.statusCode!, { ...answer.headers, ...closing })
      answer.pipe(response)
    })
    upstream.on('error', () => response.headersSent ? response.destroy() : response.writeHead(502).end('{}'))
    request.pipe(upstream)
  })
  server.on('upgrade', (request, socket, head) => {
    const { target, headers } = targetOf(request)
    const upstream = connect(Number(target.port), target.hostname, () => {
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
      upstream.write(`GET ${target.pathname}${target.search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      upstream.write(head)
      socket.pipe(upstream).pipe(socket)
    })
    for (const [one, other] of [[socket, upstream], [upstream, socket]] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  // Clients reuse connections for longer than the default of 5 s.
  server.keepAliveTimeout = 60_000
  return {
    origin: `http://127.0.0.1:${await listen(server)}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
