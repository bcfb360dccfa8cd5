import { createServer, type IncomingHttpHeaders } from 'node:http'
import { listen } from './ports.ts'
import { storageRefusals } from './storage_answers.ts'

export type Behaviour = 'normal' | 'silent' | 'down' | 'busy' | 'redirecting'

/** The Storage of the stack at this origin, with what one can have with a network and a busy server. */
export const openStorage = async (origin: string) => {
  const requests: { method: string; path: string; headers: IncomingHttpHeaders }[] = []
  const storage = { url: '', requests, behaviour: 'normal' as Behaviour, close: () => {} }
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    requests.push({ method: method!, path: url!, headers })
    const { behaviour } = storage
    if (behaviour === 'silent') return
    if (behaviour === 'down') return void request.socket.destroy()
    if (behaviour === 'redirecting') return void response.writeHead(302, { Location: `${storage.url}/elsewhere` }).end()
    if (behaviour === 'busy') {
      const { http, body } = storageRefusals.timeOut
      return void response.writeHead(http!, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
    }
    const passed = ['authorization', 'apikey', 'content-type', 'range']
    const content = Buffer.concat(await request.toArray())
    const answer = await fetch(origin + url, {
      method: method!,
      headers: passed.flatMap((name): [string, string][] => headers[name] ? [[name, `${headers[name]}`]] : []),
      ...(content.length && { body: content }),
    })
    response.writeHead(answer.status, { 'Content-Type': answer.headers.get('Content-Type')! })
    response.end(Buffer.from(await answer.arrayBuffer()))
  })
  storage.url = `http://127.0.0.1:${await listen(server)}`
  storage.close = () => (server.closeAllConnections(), void server.close())
  return storage
}
