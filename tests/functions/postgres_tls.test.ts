import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openPool } from '../../functions/_shared/postgres.ts'
import { listen } from '../tools/ports.ts'

let server: Server | undefined
afterEach(() => void server?.close())

/** Asks a server that sends this in answer to SSLRequest, or closes the connection if it is null. */
const ask = async (answer: string | null, query: string, waitMilliseconds = 20_000) => {
  const connections = new Set<Socket>()
  const received: number[] = []
  server = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => {}).on('close', () => connections.delete(socket))
    socket.on('data', (data) => {
      if (received.push(data.readInt32BE(4)) === 1 && answer !== null) socket.write(answer)
      else socket.destroy()
    })
  })
  const url = `postgresql://nobody@127.0.0.1:${await listen(server)}/nothing${query}`
  const limits = { connections: 1, waitMilliseconds, answerMilliseconds: 100, idleMilliseconds: 100 }
  const error: Error = await openPool(url, limits)('select 1', []).then(() => new Error('answered'), (error) => error)
  return { error: error.message, received, connections }
}
const sslRequest = 80877103
const startup = 196608
const silence = ''

// deno-fmt-ignore
test.each([
  ['a server without TLS is refused', 'N', 'require', 'The server does not support SSL connections', [sslRequest]],
  ['so is unencrypted data behind the answer', 'Sx', 'require', 'There was an error establishing an SSL', [sslRequest]],
  ['so is a closed connection', null, 'require', 'Connection terminated unexpectedly', [sslRequest]],
  ['a server without TLS is used with prefer', 'N', 'prefer', 'Connection terminated', [sslRequest, startup]],
  ['which is what is used without a mode', 'N', '', 'Connection terminated', [sslRequest, startup]],
])('%s', async (_, answer, mode, message, messages) => {
  const { error, received } = await ask(answer, mode && `?sslmode=${mode}`)
  expect(error).toContain(message)
  expect(received).toEqual(messages)
})

test.each(['prefer', 'require'])('a silent server leaves no connection behind with sslmode %s', async (mode) => {
  const { error, connections } = await ask(silence, `?sslmode=${mode}`, 200)
  expect(error).toMatch(/timeout|busy/)
  await expect.poll(() => connections.size, { timeout: 10_000 }).toBe(0)
})

test('an unknown sslmode is refused by name', async () => {
  await expect(ask(silence, '?sslmode=on')).rejects.toThrow(/^sslmode is "on", and must be one of/)
})
