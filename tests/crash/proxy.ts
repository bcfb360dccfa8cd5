import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface Proxy {
  base: string
  /** How many connections were dropped, by moment. */
  dropped: { afterRequest: number; beforeResponse: number }
  close: () => void
}

/** A proxy that drops this share of connections: right after the request, or when the response arrives. */
export const openProxy = async (target: string, share: number): Promise<Proxy> => {
  const { hostname, port, pathname } = new URL(target)
  const dropped = { afterRequest: 0, beforeResponse: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let upstreamContinues = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        if (socket === upstream) client.destroy()
        else if (!upstreamContinues) upstream.destroy()
      })
    }
    let dropResponse = false
    client.on('data', (bytes) => {
      const chance = Math.random()
      dropResponse = chance < share / 2
      if (chance < share / 2 || chance >= share) return void upstream.write(bytes)
      // The server gets the whole request, but the client no response.
      dropped.afterRequest++
      upstreamContinues = true
      upstream.end(bytes)
      client.destroy()
    })
    upstream.on('data', (bytes) => {
      if (!dropResponse) return void client.write(bytes)
      dropped.beforeResponse++
      client.destroy()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    dropped,
    close: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}
