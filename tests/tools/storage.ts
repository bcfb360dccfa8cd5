import { createServer } from 'node:http'
import { listen } from './ports.ts'

/** A request that the stand-in received. */
interface ReceivedRequest {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
}

export type Behaviour = 'normal' | 'silent' | 'down' | 'busy' | 'redirecting' | 'ignores ranges' | 'endless'

/** A stand-in for Storage's HTTP API: it serves files from a map and calls `remove` for removals. */
export const openStorage = async (remove: (bucket: string, names: string[], token: string) => Promise<string[]>) => {
  const files = new Map<string, Uint8Array>()
  const requests: ReceivedRequest[] = []
  const storage = { url: '', files, requests, behaviour: 'normal' as Behaviour, sent: 0, close: () => {} }
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { pathname } = new URL(request.url!, storage.url)
    requests.push({ method: request.method!, path: request.url!, headers: request.headers, body })
    const respond = (status: number) => response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
    if (storage.behaviour === 'silent') return
    if (storage.behaviour === 'down') return void request.socket.destroy()
    if (storage.behaviour === 'busy') return void respond(544)
    if (storage.behaviour === 'redirecting') {
      return void response.writeHead(302, { Location: `${storage.url}/elsewhere` }).end()
    }
    const token = String(request.headers.authorization).replace('Bearer ', '')
    const [, bucket] = /^\/storage\/v1\/object\/([^/]+)$/.exec(pathname) ?? []
    if (request.method === 'DELETE' && bucket) {
      const removed = await remove(bucket, JSON.parse(body).prefixes, token)
      return void response.writeHead(200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(removed.map((name) => ({ name }))))
    }
    const file = files.get(decodeURIComponent(pathname.replace('/storage/v1/object/authenticated/', '')))
    // Storage answers 400 for a file that does not exist or that the caller may not read.
    if (request.method !== 'GET' || !file) return void respond(400)
    if (storage.behaviour === 'endless') {
      response.writeHead(200)
      const more = () => {
        while (!response.destroyed && response.write(file)) storage.sent += file.length
        response.once('drain', more)
      }
      return more()
    }
    const [, to] = /^bytes=0-(\d+)$/.exec(String(request.headers.range)) ?? []
    const isRange = to && storage.behaviour !== 'ignores ranges'
    response.writeHead(isRange ? 206 : 200).end(isRange ? file.subarray(0, Number(to) + 1) : file)
  })
  storage.url = `http://127.0.0.1:${await listen(server)}`
  storage.close = () => {
    server.closeAllConnections()
    server.close()
  }
  return storage
}
