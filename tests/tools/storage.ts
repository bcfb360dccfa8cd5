import { createServer, request as send } from 'node:http'
import { listen } from './ports.ts'
import { storageRefusals } from './storage_answers.ts'

/** A request that Storage received. */
interface ReceivedRequest {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
}

export type Behaviour = 'normal' | 'silent' | 'down' | 'busy' | 'redirecting' | 'ignores ranges' | 'endless'

/** The Storage of the stack at this origin, with what one can have with a network and a busy server. */
export const openStorage = async (origin: string) => {
  const requests: ReceivedRequest[] = []
  const storage = { url: '', requests, behaviour: 'normal' as Behaviour, isClosed: false, close: () => {} }

  const server = createServer((request, response) => {
    requests.push({ method: request.method!, path: request.url!, headers: request.headers })
    if (storage.behaviour === 'silent') return
    if (storage.behaviour === 'down') return void request.socket.destroy()
    if (storage.behaviour === 'busy') {
      const { http, body } = storageRefusals.timeOut
      return void response.writeHead(http!, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    }
    if (storage.behaviour === 'redirecting') {
      return void response.writeHead(302, { Location: `${storage.url}/elsewhere` }).end()
    }
    const { host: _, range, ...headers } = request.headers
    const passesRange = range && storage.behaviour === 'normal'
    const options = { method: request.method!, headers: { ...headers, ...(passesRange && { range }) } }
    const upstream = send(`${origin}${request.url}`, options, (answer) => {
      if (storage.behaviour !== 'endless') {
        response.writeHead(answer.statusCode!, answer.headers)
        return void answer.pipe(response)
      }
      response.writeHead(200, { 'Content-Type': answer.headers['content-type'] })
      answer.toArray().then((chunks) => {
        const bytes = Buffer.concat(chunks)
        const more = () => {
          while (!response.destroyed && response.write(bytes));
          response.once('drain', more)
        }
        response.on('close', () => storage.isClosed = true)
        more()
      })
    })
    upstream.on('error', () => response.destroy())
    request.pipe(upstream)
  })
  storage.url = `http://127.0.0.1:${await listen(server)}`
  storage.close = () => {
    server.closeAllConnections()
    server.close()
  }
  return storage
}
