import { request } from 'node:http'
import { inject } from 'vitest'

const { origin } = inject('stack')

export interface RawResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  // deno-lint-ignore no-explicit-any
  body: any
  text: string
}

/**
 * Sends path and headers unchanged. fetch would normalise the path and set Host and Origin itself. It fails with the
 * name TimeoutError if so many milliseconds pass without a byte.
 */
export const rawRequest = (
  method: string,
  path: string,
  headers: Record<string, string> = {},
  content?: string | Uint8Array,
  { base = origin, timeout = 0 } = {},
): Promise<RawResponse> =>
  new Promise((resolve, reject) => {
    const { hostname: host, port } = new URL(base)
    const outgoing = request({ host, port, method, path, headers, agent: false, timeout }, async (response) => {
      try {
        const text = Buffer.concat(await response.toArray()).toString()
        const isJson = response.headers['content-type']?.includes('json') && text !== ''
        const body = isJson ? JSON.parse(text) : undefined
        resolve({ status: response.statusCode!, headers: response.headers, text, body })
      } catch (error) {
        reject(error)
      }
    })
    outgoing.on('timeout', () => outgoing.destroy(new DOMException('No response in time', 'TimeoutError')))
    // The server may answer and close the connection before it has received the whole body.
    outgoing.on('error', (error) => setTimeout(() => reject(error), 500))
    outgoing.end(content)
  })

/** The same without a body, or with one behind the headers, of the stack's gateway. */
export const send = (
  path: string,
  headers?: Record<string, string>,
  method = 'GET',
  body?: string,
): Promise<RawResponse> => rawRequest(method, path, headers, body)

export const statusOf = async (path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
  (await send(path, headers, method)).status
