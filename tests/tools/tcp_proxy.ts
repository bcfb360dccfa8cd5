import { connect, createServer, type Socket } from 'node:net'
import { listen } from './ports.ts'

/** What is passed on of what each side sends: all, unless this returns false. */
export interface Forwarding {
  request?: (bytes: Buffer) => boolean
  answer?: (bytes: Buffer) => boolean
}

/** A proxy in front of a server. `open` says for each connection what is passed on. */
export const openTcpProxy = async (target: URL, open: (client: Socket, server: Socket) => Forwarding) => {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, noDelay: true })
    for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(one)
      one.on('error', () => {}).on('close', () => {
        sockets.delete(one)
        // A server that was sent its last request has it, even if its client goes.
        if (!other.writableEnded) other.destroy()
      })
    }
    const { request = () => true, answer = () => true } = open(client, upstream)
    client.on('data', (bytes) => request(bytes) && upstream.write(bytes))
    upstream.on('data', (bytes) => answer(bytes) && client.write(bytes))
  })
  return {
    url: Object.assign(new URL(target), { port: `${await listen(server)}` }).href,
    close: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}
