import { createServer, type Socket } from 'node:net'
import { listen } from '../tools/ports.ts'
import { pause } from '../tools/wait.ts'

const message = (type: string, ...parts: (number[] | string)[]): Buffer => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string)))
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
const int16 = (value: number): number[] => [value >> 8, value & 255]
const int32 = (value: number): number[] => [...int16(value >>> 16), ...int16(value & 65535)]
const text = 25
const ready = message('Z', 'I')
const rowOf = (caller: string): Buffer =>
  Buffer.concat([message('D', int16(1), int32(caller.length), caller), message('C', 'SELECT 1\0')])
/** What the driver gets for anything but the execution of a statement: parse, bind, describe, sync. */
const replies: Record<string, Buffer> = {
  startup: Buffer.concat([message('R', int32(0)), ready]),
  P: message('1'),
  B: message('2'),
  D: message('T', int16(1), 'body\0', int32(0), int16(0), int32(text), int16(-1), int32(-1), int16(0)),
  S: ready,
}
const errorOf = (severity: string, code: string, routine = 'exec'): Buffer =>
  message('E', `S${severity}\0V${severity}\0C${code}\0Minjected\0R${routine}\0\0`)

type Answer = Buffer | void
/** What the server answers to a caller's statement, unless it closes the connection or says nothing. */
const behaviours = {
  row: (_, caller) => rowOf(caller),
  async slowly(socket, caller) {
    for (const byte of rowOf(caller)) {
      if (socket.destroyed) return
      socket.write(Buffer.of(byte))
      if (byte % 4 === 0) await pause(0)
    }
    return Buffer.alloc(0)
  },
  refused: () => errorOf('ERROR', '23514'),
  timeout: () => errorOf('ERROR', '57014'),
  // These two are repeatable: refused without effect, and answered on the next attempt.
  deadlock: (_, caller, isRepeated) => isRepeated ? rowOf(caller) : errorOf('ERROR', '40P01'),
  stale: (_, caller, isRepeated) => isRepeated ? rowOf(caller) : errorOf('ERROR', '0A000', 'RevalidateCachedQuery'),
  fatal: (socket) => void socket.end(errorOf('FATAL', '57P01')),
  cut: (socket) => void socket.destroy(),
  half(socket, caller) {
    const row = rowOf(caller)
    socket.write(row.subarray(0, row.length / 2), () => socket.destroy())
  },
  silence: () => new Promise(() => {}),
} satisfies Record<string, (socket: Socket, caller: string, isRepeated: boolean) => Answer | Promise<Answer>>
export type Behaviour = keyof typeof behaviours
export const behaviourNames = Object.keys(behaviours) as Behaviour[]

/**
 * A server with as much of the Postgres protocol as the driver needs; it answers in order, as Postgres does. A
 * statement is `select $1`, whose parameter is `<caller> <behaviour> <milliseconds>`. `tls` is what it sends when it is
 * asked for TLS; null: it closes the connection.
 */
export const openFakePostgres = async (tls: string | null = 'N') => {
  /** How often each caller's statement was executed. */
  const executed = new Map<string, number>()
  const sockets = new Set<Socket>()
  /** What was sent before any statement. */
  const begun: string[] = []

  const execute = async (socket: Socket, parameter: string): Promise<Answer> => {
    const [caller, behaviour, milliseconds] = parameter.split(' ') as [string, Behaviour, string]
    const before = executed.get(caller) ?? 0
    executed.set(caller, before + 1)
    await pause(Number(milliseconds))
    return await behaviours[behaviour](socket, caller, before > 0)
  }

  const serve = async (socket: Socket): Promise<void> => {
    let received = Buffer.alloc(0)
    // The first messages have no type.
    let head = 0
    let parameter = ''
    let failed = false
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer])
      while (received.length >= head + 4 && received.length >= head + received.readInt32BE(head)) {
        const length = head + received.readInt32BE(head)
        const type = head ? String.fromCharCode(received[0]!) : length === 8 ? 'SSLRequest' : 'startup'
        const body = received.subarray(head + 4, length)
        received = received.subarray(length)
        if (type === 'X') return void socket.end()
        if (!head) begun.push(type)
        if (type === 'SSLRequest') tls === null ? socket.destroy() : socket.write(tls)
        if (type === 'startup') head = 1
        if (type === 'S') failed = false
        if (type === 'B') parameter = /[\w.]+ \w+ \d+/.exec(body.toString('latin1'))![0]
        if (failed) continue
        const answer = type === 'E' ? await execute(socket, parameter) : replies[type]
        if (!answer) continue
        failed = answer[0] === 'E'.charCodeAt(0)
        socket.write(answer)
      }
    }
  }

  const server = createServer((socket) => {
    sockets.add(socket.setNoDelay())
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    serve(socket).catch(() => {})
  })
  const port = await listen(server)
  const disconnect = () => sockets.forEach((socket) => socket.destroy())
  return {
    url: `postgres://fake@127.0.0.1:${port}/fake`,
    executed,
    begun,
    open: () => sockets.size,
    /** Ends the connections, idle ones as well. */
    disconnect,
    close: () => {
      disconnect()
      server.close()
    },
  }
}
