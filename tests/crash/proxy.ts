import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  base: string
  /** How often a connection was cut, by when. */
  cuts: { afterRequest: number; beforeResponse: number }
  close: () => void
}

/** Stands before a server and cuts so large a share of connections: right after a request, or when its answer comes. */
export const openProxy = async (target: string, share: number): Promise<Proxy> => {
  const { hostname, port, pathname } = new URL(target)
  const cuts = { afterRequest: 0, beforeResponse: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let isLeft = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        if (socket === upstream) client.destroy()
        else if (!isLeft) upstream.destroy()
      })
    }
    let cutAtAnswer = false
    client.on('data', (bytes) => {
      const chance = Math.random()
      cutAtAnswer = chance < share / 2
      if (chance < share / 2 || chance >= share) return void upstream.write(bytes)
      // All of the request goes out, and nobody is there for the answer.
      cuts.afterRequest++
      isLeft = true
      upstream.end(bytes)
      client.destroy()
    })
    upstream.on('data', (bytes) => {
      if (!cutAtAnswer) return void client.write(bytes)
      cuts.beforeResponse++
      client.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    cuts,
    close: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}
