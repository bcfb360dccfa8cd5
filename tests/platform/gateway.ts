import { createServer, type IncomingHttpHeaders, request as send } from 'node:http'
import { listen } from '../tools/ports.ts'
import { publishableKey, roleToken, secretKey } from './keys.ts'

/**
 * One origin for everything, as the platform's gateway: it exchanges API keys for tokens of a role, and lets
 * Sb-Forwarded-For through with the secret key only. `routes` maps the beginning of a path to what replaces it.
 */
export const openGateway = async (routes: Map<string, string>) => {
  const tokens = new Map([
    [publishableKey, await roleToken('anon')],
    [secretKey, await roleToken('service_role')],
  ])
  const forwarded = (headers: IncomingHttpHeaders): IncomingHttpHeaders => {
    const apikey = String(headers.apikey ?? '')
    const bearer = String(headers.authorization ?? '').replace(/^Bearer /, '')
    const token = tokens.get(bearer || apikey)
    const { 'sb-forwarded-for': address, host: _, ...others } = headers
    return {
      ...others,
      'x-forwarded-for': headers['x-forwarded-for'] ?? '127.0.0.1',
      ...(token && { authorization: `Bearer ${token}` }),
      ...(apikey === secretKey && address && { 'sb-forwarded-for': address }),
    }
  }
  const server = createServer((request, response) => {
    const [from, to] = [...routes].find(([path]) => request.url!.startsWith(path)) ?? []
    if (!to) return void response.writeHead(404).end('{}')
    const isFunction = from!.startsWith('/functions/')
    const headers = isFunction ? request.headers : forwarded(request.headers)
    const upstream = send(to + request.url!.slice(from!.length), { method: request.method!, headers }, (answer) => {
      // Storage refuses a large file before it has read it; what follows must not be taken for the next request.
      if (!request.complete) response.setHeader('Connection', 'close')
      const { connection: _, ...headers } = answer.headers
      response.writeHead(answer.statusCode!, headers)
      answer.pipe(response)
    })
    upstream.on('error', () => response.headersSent ? response.destroy() : response.writeHead(502).end('{}'))
    request.pipe(upstream)
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
