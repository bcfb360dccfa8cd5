import type { IncomingMessage } from 'node:http'
import { signToken } from '../../tools/jwt.ts'
import { openProxy } from '../../tools/proxy.ts'
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
  return await openProxy(targetOf)
}
