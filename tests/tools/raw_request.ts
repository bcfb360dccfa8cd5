import { request } from 'node:http'
import { inject } from 'vitest'

const { hostname, port } = new URL(inject('stack').origin)

export interface RawResponse {
  status: number
  headers: Record<string, string | string[] | undefined>
  // deno-lint-ignore no-explicit-any
  body: any
  text: string
}

/** Sends path and headers unchanged. fetch would normalise the path and set Host and Origin itself. */
export const rawRequest = (
  method: string,
  path: string,
  headers: Record<string, string> = {},
  content?: string | Uint8Array,
): Promise<RawResponse> =>
  new Promise((resolve, reject) => {
    const outgoing = request({ host: hostname, port, method, path, headers, agent: false }, async (response) => {
      const text = (await response.toArray()).join('')
      const isJson = response.headers['content-type']?.includes('json') && text !== ''
      const body = isJson ? JSON.parse(text) : undefined
      resolve({ status: response.statusCode!, headers: response.headers, text, body })
    })
    // The server may answer and close the connection before it has received the whole body.
    outgoing.on('error', (error) => setTimeout(() => reject(error), 500))
    outgoing.end(content)
  })
