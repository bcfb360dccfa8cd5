import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openSocket, readTarget } from '../../functions/_shared/postgres_socket.ts'
import { listen } from '../tools/ports.ts'

let server: Server | undefined
afterEach(() => void server?.close())

/** A server that sends this in answer to SSLRequest, or closes the connection; with the number of connections. */
const serve = async (answer: string | null) => {
  const connections = new Set<Socket>()
  server = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => {}).on('close', () => connections.delete(socket))
    socket.once('data', () => answer === null ? socket.destroy() : answer && socket.write(answer))
  })
  return { url: `postgresql://nobody@127.0.0.1:${await listen(server)}/nothing`, connections }
}
const open = (url: string, milliseconds = 5000) => openSocket(readTarget(url), AbortSignal.timeout(milliseconds))

test.each([
  ['a server without TLS', 'N', 'require', 'The database server does not offer TLS'],
  ['unencrypted data behind the answer', 'Sx', 'require', 'Unencrypted data after the answer to SSLRequest'],
  ['a closed connection', null, 'require', 'The connection was closed'],
])('%s is refused', async (_, answer, mode, message) => {
  const { url } = await serve(answer)
  await expect(open(`${url}?sslmode=${mode}`)).rejects.toThrow(message)
})

test.each(['', '?sslmode=prefer'])('a server without TLS is used without it with "%s"', async (query) => {
  const { url, connections } = await serve('N')
  const socket = await open(url + query)
  expect(connections.size).toBe(1)
  socket.destroy()
})

test.each(['prefer', 'require'])('a silent server leaves no connection behind with sslmode %s', async (mode) => {
  const { url, connections } = await serve('')
  await expect(open(`${url}?sslmode=${mode}`, 200)).rejects.toMatchObject({ code: 'CONNECT_TIMEOUT' })
  await expect.poll(() => connections.size).toBe(0)
})

test('an unknown sslmode is refused by name', () => {
  expect(() => readTarget('postgresql://127.0.0.1/nothing?sslmode=on')).toThrow(/^sslmode is "on", and must be one of/)
})
