import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../tools/ports.ts'

/** A proxy that drops this share of connections: right after the request, or when the response arrives. */
export const openProxy = async (target: string, share: number) => {
  const { hostname, port, pathname } = new URL(target)
  const dropped = { afterRequest: 0, beforeResponse: 0 }
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let [upstreamContinues, dropsResponse] = [false, false]
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => {
        sockets.delete(socket)
        if (socket === upstream) client.destroy()
        else if (!upstreamContinues) upstream.destroy()
      })
    }
    client.on('data', (bytes) => {
      const chance = Math.random()
      dropsResponse = chance < share / 2
      if (dropsResponse || chance >= share) return void upstream.write(bytes)
      // The server gets the whole request, but the client no response.
      dropped.afterRequest++
      upstreamContinues = true
      upstream.end(bytes)
      client.destroy()
    })
    upstream.on('data', (bytes) => {
      if (!dropsResponse) return void client.write(bytes)
      dropped.beforeResponse++
      client.destroy()
    })
  })
  return {
    base: `http://127.0.0.1:${await listen(server)}${pathname}`,
    dropped,
    close: () => {
      server.close()
      sockets.forEach((socket) => socket.destroy())
    },
  }
}
