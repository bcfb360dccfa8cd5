import { createServer, type Server, type Socket } from 'node:net'
import { listen } from '../tools/ports.ts'
import { pause } from '../tools/wait.ts'

/**
 * What the server does with a statement `select $1`, whose parameter is `<caller> <behaviour> <milliseconds>`. It waits
 * this long and then sends
 *   row      the row
 *   slowly   the row, a few bytes at a time
 *   error    an error, as by a constraint
 *   timeout  an error, as by statement_timeout
 *   deadlock an error, and the row on the next attempt
 *   stale    an error about the plan, and the row on the next attempt
 *   fatal    a fatal error, and closes the connection
 *   cut      nothing, and closes the connection
 *   half     half of the row, and closes the connection
 *   silence  nothing
 */
export const behaviours = [
  ...['row', 'slowly', 'error', 'timeout', 'deadlock', 'stale', 'fatal', 'cut', 'half', 'silence'],
] as const

const message = (type: string, ...parts: (number[] | string | Buffer)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const int16 = (value: number): number[] => [value >> 8, value & 255]
const int32 = (value: number): number[] => [value >>> 24, (value >> 16) & 255, (value >> 8) & 255, value & 255]
const text = 25

const started = Buffer.concat([
  message('R', int32(0)),
  message('S', 'server_version\x0017.0\0'),
  message('K', int32(1), int32(1)),
  message('Z', 'I'),
])
const ready = message('Z', 'I')
const described = Buffer.concat([
  message('t', int16(1), int32(text)),
  message('T', int16(1), 'body\0', int32(0), int16(0), int32(text), int16(-1), int32(-1), int16(0)),
])
const rowOf = (caller: string): Buffer =>
  Buffer.concat([message('D', int16(1), int32(Buffer.byteLength(caller)), caller), message('C', 'SELECT 1\0')])
const errorOf = (severity: string, code: string, routine = 'exec'): Buffer =>
  message('E', `S${severity}\0V${severity}\0C${code}\0Minjected\0R${routine}\0\0`)

/** A server with as much of the Postgres protocol as the driver needs. It answers in order, as Postgres does. */
export const openFakePostgres = async () => {
  /** How often each statement was executed. */
  const executed = new Map<string, number>()
  const sockets = new Set<Socket>()

  const execute = async (socket: Socket, parameter: string): Promise<Buffer | null> => {
    const [caller = '', behaviour = '', milliseconds = '0'] = parameter.split(' ')
    const before = executed.get(caller) ?? 0
    executed.set(caller, before + 1)
    await pause(Number(milliseconds))
    switch (behaviour) {
      case 'slowly':
        for (const byte of rowOf(caller)) {
          if (socket.destroyed) return null
          socket.write(Buffer.of(byte))
          if (byte % 4 === 0) await pause(0)
        }
        return Buffer.alloc(0)
      case 'error':
        return errorOf('ERROR', '23514')
      case 'timeout':
        return errorOf('ERROR', '57014')
      case 'deadlock':
        return before > 0 ? rowOf(caller) : errorOf('ERROR', '40P01')
      case 'stale':
        return before > 0 ? rowOf(caller) : errorOf('ERROR', '0A000', 'RevalidateCachedQuery')
      case 'fatal':
        socket.end(errorOf('FATAL', '57P01'))
        return null
      case 'half': {
        const row = rowOf(caller)
        socket.write(row.subarray(0, row.length / 2), () => socket.destroy())
        return null
      }
      case 'cut':
        socket.destroy()
        return null
      case 'silence':
        return await new Promise(() => {})
      default:
        return rowOf(caller)
    }
  }

  const serve = async (socket: Socket): Promise<void> => {
    let received = Buffer.alloc(0)
    let isStarted = false
    let parameter = ''
    let failed = false
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer])
      while (received.length >= (isStarted ? 5 : 4)) {
        const head = isStarted ? 1 : 0
        const length = head + received.readInt32BE(head)
        if (received.length < length) break
        const type = isStarted ? String.fromCharCode(received[0]!) : 'startup'
        const body = received.subarray(head + 4, length)
        received = received.subarray(length)
        if (type === 'startup' && length === 8) {
          // SSLRequest: no TLS.
          socket.write('N')
        } else if (type === 'startup') {
          isStarted = true
          socket.write(started)
        } else if (type === 'S') {
          failed = false
          socket.write(ready)
        } else if (type === 'X') {
          return void socket.end()
        } else if (failed) {
          continue
        } else if (type === 'P') {
          socket.write(message('1'))
        } else if (type === 'D') {
          socket.write(described)
        } else if (type === 'B') {
          // Portal, statement, no formats, one value.
          const values = body.indexOf(0, body.indexOf(0) + 1) + 1
          const formats = body.readInt16BE(values)
          const value = values + 2 + formats * 2 + 2
          parameter = body.subarray(value + 4, value + 4 + body.readInt32BE(value)).toString()
          socket.write(message('2'))
        } else if (type === 'E') {
          const answer = await execute(socket, parameter)
          if (!answer) continue
          failed = answer[0] === 69
          socket.write(answer)
        }
      }
    }
  }

  const server: Server = createServer((socket) => {
    sockets.add(socket.setNoDelay())
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    serve(socket).catch(() => {})
  })
  const port = await listen(server)
  return {
    url: `postgres://fake@127.0.0.1:${port}/fake`,
    executed,
    /** How many connections are open. */
    open: () => sockets.size,
    close: () => {
      sockets.forEach((socket) => socket.destroy())
      server.close()
    },
  }
}
