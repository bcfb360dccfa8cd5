import { lookup } from 'node:dns/promises'
import { hostOf, isLoopback, isPublicAddress } from '../_shared/addresses.ts'

/** What became of a request, as private.finish_outbox takes it; `reason` says nothing about whom it was for. */
type Reply = { outcome: 'sent' | 'failed'; reason?: string; retry_after?: number }

/** Why a request was not made or not answered. */
class PostError extends Error {}

type Request = { headers: Record<string, string>; body: Uint8Array<ArrayBuffer> }

/** The addresses of a host. If one is private none is used: whoever controls the name has pointed it there. */
const addressesOf = async (url: URL, allowLoopback: boolean): Promise<string[]> => {
  const found = await lookup(hostOf(url), { all: true }).catch(() => {
    throw new PostError('the host name cannot be resolved')
  })
  const addresses = found.map(({ address }) => address)
  const isAllowed = (address: string) => isPublicAddress(address) || allowLoopback && isLoopback(address)
  if (!addresses.every(isAllowed)) throw new PostError('the address is private')
  if (url.protocol !== 'https:' && !addresses.every(isLoopback)) throw new PostError('the URL is not https')
  return addresses
}

const headOf = (url: URL, { headers, body }: Request): Uint8Array => {
  const lines = Object.entries({ ...headers, host: url.host, 'content-length': body.length, connection: 'close' })
    .map(([name, value]) => `${name}: ${String(value).replace(/[^\t -~]/g, '')}`)
  return new TextEncoder().encode(`POST ${url.pathname}${url.search} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
}

/** Reads up to the end of the final response's headers. The body is not needed. */
const readReply = async (connection: Deno.Conn): Promise<Reply> => {
  let text = ''
  for await (const chunk of connection.readable) {
    text += String.fromCharCode(...chunk.subarray(0, 16_384))
    // Interim responses come first.
    text = text.replace(/^(HTTP\/1\.\d 1\d\d[^]*?\r\n\r\n)+/, '')
    const [head, status] = /^HTTP\/1\.\d (\d{3})[^]*?\r\n\r\n/.exec(text) ?? []
    if (head && /^2/.test(status!)) return { outcome: 'sent' }
    const seconds = /^retry-after: *(\d{1,6}) *$/im.exec(head ?? '')?.[1]
    if (head) return { outcome: 'failed', reason: `status ${status}`, ...seconds && { retry_after: Number(seconds) } }
    if (text.length >= 16_384 || text.includes('\r\n\r\n')) break
  }
  throw new PostError('the answer is not HTTP')
}

/**
 * Sends a POST to a URL that somebody else chose. It connects to the addresses that it has checked, where `fetch` would
 * resolve the name a second time, and follows no redirect.
 */
export const post = async (
  target: string,
  request: Request,
  { allowLoopback, timeoutMilliseconds }: { allowLoopback: boolean; timeoutMilliseconds: number },
): Promise<Reply> => {
  let connection: Deno.Conn | undefined
  let isOver = false
  const close = () => {
    isOver = true
    try {
      connection?.close()
    } catch {
      // It is closed already.
    }
  }
  const exchange = async (): Promise<Reply> => {
    const url = new URL(target)
    const [hostname] = await addressesOf(url, allowLoopback)
    const isTls = url.protocol === 'https:'
    connection = await Deno.connect({ hostname: hostname!, port: Number(url.port) || (isTls ? 443 : 80) })
    if (isTls) connection = await Deno.startTls(connection as Deno.TcpConn, { hostname: hostOf(url) })
    if (isOver) close()
    const writer = connection.writable.getWriter()
    await writer.write(headOf(url, request))
    await writer.write(request.body)
    return await readReply(connection)
  }
  const timeout = new Promise<never>((_, reject) =>
    AbortSignal.timeout(timeoutMilliseconds).addEventListener('abort', () => reject(new PostError('no answer in time')))
  )
  try {
    return await Promise.race([exchange(), timeout])
  } catch (error) {
    return { outcome: 'failed', reason: error instanceof PostError ? error.message : (error as Error).name }
  } finally {
    close()
  }
}
