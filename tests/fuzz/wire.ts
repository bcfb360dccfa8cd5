import { Agent, request } from 'node:http'

/** A request as it goes over the wire: fetch would tidy its path and its headers. */
export interface Sent {
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

export interface Got {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 8 })

/** Sends it to an address; a service that says nothing for twenty seconds hangs, however busy the machine is. */
export const send = (base: string, { method, path, headers, body }: Sent): Promise<Got> =>
  new Promise((resolve, reject) => {
    const url = new URL(base)
    // Else a body of GET would go out without a length, and be taken for the next request.
    const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
    const where = { host: url.hostname, port: url.port, path: (url.pathname + path).replace(/^\/\//, '/') }
    const wire = request(
      { ...where, method, headers: { ...headers, ...length }, agent, timeout: 20_000 },
      async (response) => {
        try {
          const text = Buffer.concat(await response.toArray()).toString()
          resolve({ status: response.statusCode!, headers: response.headers, text })
        } catch (error) {
          reject(error)
        }
      },
    )
    wire.on('timeout', () => wire.destroy(new Error('no answer within twenty seconds')))
    wire.on('error', reject)
    wire.end(body)
  })
