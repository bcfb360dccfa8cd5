import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openPool } from '../../functions/_shared/postgres.ts'
import { listen } from '../tools/ports.ts'

let server: Server | undefined
afterEach(() => void server?.close())

/** A server that sends this in answer to SSLRequest, or closes the connection; with the number of connections. */
const serve = async (answer: string | null) => {
  const connections = new Set<Socket>()
  const received: number[] = []
  server = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => {}).on('close', () => connections.delete(socket))
    socket.on('data', (data) => {
      received.push(data.readInt32BE(4))
      if (answer === null) socket.destroy()
      else if (received.length === 1) socket.write(answer)
      else socket.destroy()
    })
  })
  return { url: `postgresql://nobody@127.0.0.1:${await listen(server)}/nothing`, connections, received }
}
const ask = (url: string, waitMilliseconds = 2000) =>
  openPool(url, { connections: 1, waitMilliseconds, answerMilliseconds: 100, idleMilliseconds: 100 })('select 1', [])

const sslRequest = 80877103
const startup = 196608

test.each([
  ['a server without TLS', 'N', 'require', 'The server does not support SSL connections'],
  ['unencrypted data behind the answer', 'Sx', 'require', 'There was an error establishing an SSL connection'],
  ['a closed connection', null, 'require', 'Connection terminated unexpectedly'],
])('%s is refused', async (_, answer, mode, message) => {
  const { url, received } = await serve(answer)
  await expect(ask(`${url}?sslmode=${mode}`)).rejects.toThrow(message)
  expect(received).toEqual([sslRequest])
})

test.each(['', '?sslmode=prefer'])('a server without TLS is used without it with "%s"', async (query) => {
  const { url, received } = await serve('N')
  await expect(ask(url + query)).rejects.toThrow('Connection terminated')
  expect(received).toEqual([sslRequest, startup])
})

test.each(['prefer', 'require'])('a silent server leaves no connection behind with sslmode %s', async (mode) => {
  const { url, connections } = await serve('')
  await expect(ask(`${url}?sslmode=${mode}`, 200)).rejects.toThrow('timeout')
  await expect.poll(() => connections.size).toBe(0)
})

test('an unknown sslmode is refused by name', () => {
  expect(() => ask('postgresql://127.0.0.1/nothing?sslmode=on')).toThrow(/^sslmode is "on", and must be one of/)
})
