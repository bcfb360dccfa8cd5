import { Agent, request } from 'node:http'

/** A request that is sent as it is; fetch would normalize the path and the headers. */
export type HttpRequest = { method: string; path: string; headers: Record<string, string>; body?: string }

export type HttpResponse = { status: number; headers: Record<string, string | string[] | undefined>; text: string }

export class ResponseTimeout extends Error {}

/** A client with its own connections, whose requests fail with a ResponseTimeout after so many milliseconds. */
export const openHttpClient = (timeout: number) => {
  const agent = new Agent({ keepAlive: true })
  return (base: string, { method, path, headers, body }: HttpRequest): Promise<HttpResponse> =>
    new Promise((resolve, reject) => {
      const url = new URL(base)
      // Without a length the body of a GET would be parsed as the next request.
      const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }
      const target = { host: url.hostname, port: url.port, path: (url.pathname + path).replace(/^\/\//, '/') }
      const sending = request(
        { ...target, method, headers: { ...headers, ...length }, agent, timeout },
        async (response) => {
          try {
            const text = Buffer.concat(await response.toArray()).toString()
            resolve({ status: response.statusCode!, headers: response.headers, text })
          } catch (error) {
            reject(error)
          }
        },
      )
      sending.on('timeout', () => sending.destroy(new ResponseTimeout(`no response within ${timeout} ms`)))
      sending.on('error', reject)
      sending.end(body)
    })
}
