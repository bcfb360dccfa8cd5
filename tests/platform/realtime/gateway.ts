import type { IncomingMessage } from 'node:http'
import { signToken } from '../../tools/jwt.ts'
import { openProxy } from '../../tools/proxy.ts'
import { testKeys } from '../../tools/stack.ts'

const tokenOf = (role: string): string =>
  signToken({ alg: 'HS256', typ: 'JWT' }, { role, exp: Math.floor(Date.now() / 1000) + 86_400 }, testKeys.jwtSecret)
const tokens = new Map([
  [testKeys.publishableKey, tokenOf('anon')],
  [testKeys.secretKey, tokenOf('service_role')],
])
const exchanged = (key: string) => tokens.get(key) ?? key

/** One origin for the local stack and the Realtime server, for which it exchanges API keys as the platform does. */
export const openGateway = (stack: () => string, realtime: string) =>
  openProxy(({ url, headers }: IncomingMessage) => {
    const [, path] = /^\/realtime\/v1(.*)$/s.exec(url!) ?? []
    if (path === undefined) return { target: new URL(url!, stack()), headers }
    const { apikey, authorization } = headers
    const target = new URL(path.replace(/^\/websocket/, '/socket/websocket'), realtime)
    const key = target.searchParams.get('apikey')
    if (key !== null) target.searchParams.set('apikey', exchanged(key))
    return {
      target,
      headers: {
        ...headers,
        // The server finds the tenant by the first part of the host's name.
        host: 'realtime-dev.localhost',
        ...(apikey && { apikey: exchanged(`${apikey}`) }),
        ...(authorization && { authorization: `Bearer ${exchanged(authorization.replace(/^Bearer /, ''))}` }),
      },
    }
  })
