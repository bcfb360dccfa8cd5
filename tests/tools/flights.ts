import { connect, createServer } from 'node:net'
import { listen } from './ports.ts'

export interface FlightCounter {
  url: string
  /** How often the client has sent something and then waited for an answer. */
  count: () => number
  close: () => void
}

/** A proxy in front of a database that counts round trips, and may delay what passes in each direction. */
export const countFlights = async (database: string, milliseconds = 0): Promise<FlightCounter> => {
  const url = new URL(database)
  let flights = 0
  const delayed = (write: () => void) => milliseconds ? void setTimeout(write, milliseconds) : write()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ port: Number(url.port), host: url.hostname, noDelay: true })
    let isAnswered = true
    client.on('data', (bytes) => {
      if (isAnswered) flights++
      isAnswered = false
      delayed(() => upstream.write(bytes))
    })
    upstream.on('data', (bytes) => {
      isAnswered = true
      delayed(() => client.write(bytes))
    })
    for (const [one, other] of [[client, upstream], [upstream, client]] as const) {
      one.on('error', () => {}).on('close', () => other.destroy())
    }
  })
  const proxy = new URL(url)
  proxy.port = String(await listen(server))
  return { url: proxy.href, count: () => flights, close: () => server.close() }
}
