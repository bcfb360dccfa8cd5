import net from 'node:net'
import tls from 'node:tls'

// As in libpq (https://www.postgresql.org/docs/17/libpq-ssl.html): `prefer` encrypts if it can, `require` always, and
// `verify-full` also checks the certificate and the host name.
const sslModes = ['disable', 'prefer', 'require', 'verify-full'] as const

interface Target {
  host: string
  port: number
  sslMode: typeof sslModes[number]
  /** PEM; signs the certificate of the server, if the runtime does not know it. */
  certificateAuthority?: string
}

/** Where a connection string points to; `sslmode` is `prefer` if it has none. Throws on an unknown one. */
export const readTarget = (url: string, certificateAuthority?: string): Target => {
  const { hostname, port, searchParams } = new URL(url)
  const mode = searchParams.get('sslmode') ?? 'prefer'
  const sslMode = sslModes.find((one) => one === mode)
  if (!sslMode) throw new Error(`sslmode is "${mode}", and must be one of ${sslModes.join(', ')}`)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || 5432, sslMode, certificateAuthority }
}

// https://www.postgresql.org/docs/17/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-SSLREQUEST
const sslRequest = new Uint8Array([0, 0, 0, 8, 4, 210, 22, 47])
const sslAccepted = 'S'.charCodeAt(0)

const errorWith = (code: string, message: string): Error => Object.assign(new Error(message), { code })

/** Connects, and does the TLS handshake unless the mode is `disable`. */
const connect = ({ host, port, sslMode, certificateAuthority }: Target, signal: AbortSignal): Promise<net.Socket> =>
  new Promise((resolve, reject) => {
    const socket = net.connect({ host, port })
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const onClose = () => fail(errorWith('CONNECTION_CLOSED', 'The connection was closed'))
    const onAbort = () => fail(errorWith('CONNECT_TIMEOUT', 'The connection was not open in time'))
    const succeed = (ready: net.Socket) => {
      signal.removeEventListener('abort', onAbort)
      socket.off('close', onClose)
      for (const one of new Set([socket, ready])) one.off('error', fail)
      resolve(ready)
    }
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    socket.on('error', fail)
    socket.on('close', onClose)
    socket.once('connect', () => {
      if (sslMode === 'disable') return succeed(socket)
      socket.once('data', (answer: Uint8Array) => {
        // Anything after this byte was not sent by the server (CVE-2021-23222 of libpq).
        if (answer.length > 1) return fail(new Error('Unencrypted data after the answer to SSLRequest'))
        if (answer[0] !== sslAccepted) {
          return sslMode === 'prefer' ? succeed(socket) : fail(new Error('The database server does not offer TLS'))
        }
        // In this callback, not a microtask later as in postgres.js 3.4.9: Deno 2.1, the version of the platform's
        // runtime, would wait forever (porsager/postgres#723, denoland/deno#28526).
        const encrypted = tls.connect({
          socket,
          host,
          servername: net.isIP(host) ? undefined : host,
          rejectUnauthorized: sslMode === 'verify-full',
          ca: certificateAuthority,
        })
        encrypted.on('error', fail)
        encrypted.once('secureConnect', () => succeed(encrypted))
      })
      socket.write(sslRequest)
    })
  })

/**
 * A socket to Postgres, encrypted as sslmode says. Rejects with CONNECT_TIMEOUT if the signal aborts first. `prefer`
 * continues without encryption if the handshake fails: Deno 2.1 rejects unknown authorities even if
 * `rejectUnauthorized` is false.
 */
export const openSocket = async (target: Target, signal: AbortSignal): Promise<net.Socket> => {
  try {
    return await connect(target, signal)
  } catch (error) {
    if (target.sslMode !== 'prefer' || signal.aborted) throw error
    return await connect({ ...target, sslMode: 'disable' }, signal)
  }
}
