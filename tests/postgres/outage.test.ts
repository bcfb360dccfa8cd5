// Edge Functions while the network to their database fails in various ways.
import { spawn } from 'node:child_process'
import { connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { listen } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'

const { url } = await useCopy('unreachable')

/** A proxy before the database. */
const openProxy = async () => {
  const target = new URL(url())
  const sockets = new Set<Socket>()
  let dropsBytes = false
  const keep = (socket: Socket) => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer((client) => {
    keep(client)
    if (dropsBytes) return void client.resume()
    const upstream = keep(connect(Number(target.port), target.hostname))
    for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
      from.on('data', (bytes) => void (dropsBytes || to.write(bytes)))
      from.on('close', () => void (dropsBytes || to.destroy()))
    }
  })
  const port = await listen(server)
  const disconnect = () => sockets.forEach((socket) => socket.destroy())
  onTestFinished(() => {
    disconnect()
    server.close()
  })
  return {
    port,
    /** Drops all bytes silently. */
    dropBytes: () => void (dropsBytes = true),
    /** Refuses new connections. */
    close: () => void server.close(),
    /** Works again; all earlier connections are closed. */
    restore: async () => {
      disconnect()
      dropsBytes = false
      if (!server.listening) await listen(server, port)
    },
  }
}

const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

/** All functions in one process. */
const serveFunctions = async (port: number | string) => {
  const database = new URL(url('edge_functions'))
  database.port = `${port}`
  const env = {
    ...process.env,
    EDGE_DATABASE_URL: database.href,
    SUPABASE_SECRET_KEY: testKeys.secretKey,
    // Rate limits are checked and never reached.
    RATE_LIMIT_SEARCH_ANONYMOUS: '100000/60',
    ACCESS_LOG: 'off',
  }
  const deno = spawn('node_modules/.bin/deno', ['run', '-A', 'bench/endpoints/serve_functions.ts'], {
    env,
    stdio: ['ignore', process.env.STACK_LOG ? 'inherit' : 'ignore', 'pipe'],
  })
  stops.push(() => deno.kill('SIGKILL'))
  for await (const line of createInterface(deno.stderr!)) {
    const base = /^ready (\S+)$/.exec(line)?.[1]
    if (!base) continue
    deno.stderr!.resume()
    const request = async (path: string, headers = {}) => {
      const answer = await fetch(`${base}${path}`, { headers, signal: AbortSignal.timeout(60_000) }).catch(() => null)
      const text = await answer?.text().catch(() => '')
      return { status: answer?.status, text }
    }
    return { request, ended: () => deno.exitCode ?? deno.signalCode }
  }
  throw new Error('The functions ended before they were ready')
}

const interests = '/users/interests'

test.concurrent.each([
  ['is silent', false],
  ['is silent and takes no more connections', true],
])('if the database %s, requests fail and do not hang, and succeed once it is back', async (_, closes) => {
  const proxy = await openProxy()
  const { request, ended } = await serveFunctions(proxy.port)
  // Opens every connection.
  const opened = await Promise.all(Array.from({ length: 30 }, () => request(interests)))
  expect(opened.map(({ status }) => status)).toEqual(Array(30).fill(200))

  proxy.dropBytes()
  if (closes) proxy.close()
  for (let round = 0; round < 2; round++) {
    const paths = Array.from({ length: 8 }, (_, index) => index % 2 ? interests : '/users/search')
    const answers = await Promise.all(paths.map((path) => request(path)))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(503))
  }
  expect(ended()).toBe(null)

  await proxy.restore()
  // A lost connection may be detected only now.
  await vi.waitFor(async () => {
    expect((await request(interests)).status).toBe(200)
    const { text } = await request('/health/metrics', { apikey: testKeys.secretKey })
    expect(text).toMatch(/^database_up 1$/m)
    expect(text).toMatch(/^database_statements_in_flight 0$/m)
  }, { timeout: 20_000, interval: 500 })
  expect(ended()).toBe(null)
})
