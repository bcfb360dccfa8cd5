import { createServer, type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import { signToken } from '../../tools/jwt.ts'
import { listen } from '../../tools/ports.ts'
import { testKeys } from '../../tools/stack.ts'

const tokenOf = (role: string): string => {
  const exp = Math.floor(Date.now() / 1000) + 86_400
  return signToken({ alg: 'HS256', typ: 'JWT' }, { role, exp }, testKeys.jwtSecret)
}
const tokens = new Map([
  [testKeys.publishableKey, tokenOf('anon')],
  [testKeys.secretKey, tokenOf('service_role')],
])
const prefix = '/realtime/v1'

/** One origin for the local stack and the Realtime server, for which it exchanges API keys as the platform does. */
export const openGateway = async (stack: () => string, realtime: string) => {
  const targetOf = ({ url, headers }: IncomingMessage) => {
    if (!url!.startsWith(prefix)) return { target: new URL(url!, stack()), headers }
    const target = new URL(url!.slice(prefix.length).replace(/^\/websocket/, '/socket/websocket'), realtime)
    const key = target.searchParams.get('apikey')
    if (key !== null) target.searchParams.set('apikey', tokens.get(key) ?? key)
    const exchanged = (value: string) => tokens.get(value) ?? value
    return {
      target,
      headers: {
        ...headers,
        // The server finds the tenant by the first part of the host's name.
        host: 'realtime-dev.localhost',
        ...(headers.apikey && { apikey: exchanged(String(headers.apikey)) }),
        ...(headers.authorization && {
          authorization: `Bearer ${exchanged(headers.authorization.replace(/^Bearer /, ''))}`,
        }),
      },
    }
  }
  const server = createServer((request, response) => {
    const { target, headers } = targetOf(request)
    const upstream = send(target, { method: request.method!, headers }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
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
  server.keepAliveTimeout = 60_000
  return {
    origin: `http://127.0.0.1:${await listen(server)}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
