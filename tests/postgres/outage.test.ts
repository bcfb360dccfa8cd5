// Edge Functions while the network to their database fails in various ways.
import { type ChildProcess, spawn } from 'node:child_process'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import postgres from 'postgres'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { listen } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'
import { platform } from '../tools/supabase.ts'
import { pause } from '../tools/wait.ts'

/** A proxy before the database. */
const openProxy = async () => {
  const target = new URL(process.env.PLATFORM_URL!)
  const sockets = new Set<Socket>()
  let dropsBytes = false
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    return socket
  }
  const server: Server = createServer((client) => {
    keep(client)
    if (dropsBytes) return void client.resume()
    const upstream = keep(connect(Number(target.port), target.hostname))
    for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
      from.on('data', (bytes) => void (dropsBytes || to.write(bytes)))
      from.on('close', () => void (dropsBytes || to.destroy()))
    }
  })
  const port = await listen(server)
  return {
    port,
    /** Drops all bytes silently. */
    dropBytes: () => void (dropsBytes = true),
    disconnect: () => sockets.forEach((socket) => socket.destroy()),
    /** Refuses new connections. */
    close: () => void server.close(),
    /** Works again; all earlier connections are closed. */
    restore: async () => {
      sockets.forEach((socket) => socket.destroy())
      dropsBytes = false
      if (!server.listening) await listen(server, port)
    },
  }
}

const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

const serveFunctions = async (role: string, port: number, env: Record<string, string> = {}) => {
  const url = new URL(platform('scripted', role))
  url.port = String(port)
  const deno: ChildProcess = spawn('node_modules/.bin/deno', ['run', '-A', 'bench/endpoints/serve_functions.ts'], {
    env: {
      ...process.env,
      EDGE_DATABASE_URL: url.href,
      SUPABASE_SECRET_KEY: testKeys.secretKey,
      // Rate limits are checked and never reached.
      RATE_LIMIT_SEARCH_ANONYMOUS: '100000/60',
      ACCESS_LOG: 'off',
      ...env,
    },
    stdio: ['ignore', process.env.STACK_LOG ? 'inherit' : 'ignore', 'pipe'],
  })
  stops.push(() => deno.kill('SIGKILL'))
  for await (const line of createInterface(deno.stderr!)) {
    const base = /^ready (\S+)$/.exec(line)?.[1]
    if (!base) continue
    deno.stderr!.resume()
    const request = async (path: string, headers = {}) => {
      const start = performance.now()
      const answer = await fetch(`${base}${path}`, { headers, signal: AbortSignal.timeout(20_000) }).catch(() => null)
      const text = await answer?.text().catch(() => '')
      return { status: answer?.status, text, seconds: (performance.now() - start) / 1000 }
    }
    return { request, ended: () => deno.exitCode ?? deno.signalCode }
  }
  throw new Error('The functions ended before they were ready')
}

const interests = '/users/interests'
const inFlight = (text = ''): number => Number(/^database_statements_in_flight (\d+)$/m.exec(text)?.[1])

const logIns = ['edge_functions', 'postgres']

describe.each(logIns)('logged in as %s', (role) => {
  test.concurrent.each([
    ['is silent', false],
    ['is silent and takes no more connections', true],
  ])('if the database %s, requests fail within ten seconds, and succeed once it is back', async (_, closes) => {
    const proxy = await openProxy()
    const { request, ended } = await serveFunctions(role, proxy.port)
    // Opens every connection.
    for (const { status } of await Promise.all(Array.from({ length: 30 }, () => request(interests)))) {
      expect(status).toBe(200)
    }

    proxy.dropBytes()
    if (closes) proxy.close()
    for (const round of [1, 2]) {
      for (
        const { status, seconds } of await Promise.all(
          Array.from({ length: 8 }, (_, index) => request(index % 2 ? interests : '/users/search')),
        )
      ) {
        expect({ status, round }).toEqual({ status: 503, round })
        expect(seconds).toBeLessThan(10)
      }
    }
    expect(ended()).toBe(null)

    await proxy.restore()
    await pause(1000)
    expect((await request(interests)).status).toBe(200)
    let metrics = await request('/health/metrics', { apikey: testKeys.secretKey })
    // Another lost connection may be detected only now.
    for (let tries = 0; tries < 10 && !metrics.text?.includes('\ndatabase_up 1\n'); tries++) {
      await pause(500)
      metrics = await request('/health/metrics', { apikey: testKeys.secretKey })
    }
    expect(metrics.text).toContain('\ndatabase_up 1\n')
    expect(inFlight(metrics.text)).toBe(0)
    expect(ended()).toBe(null)
  })

  // Not concurrent, because it locks a table that the metrics read.
  test('a statement that waits for a lock fails within ten seconds and stops waiting', async () => {
    const owner = postgres(platform('scripted'), { max: 1, onnotice: () => {} })
    onTestFinished(() => owner.end())
    const { request, ended } = await serveFunctions(role, Number(new URL(process.env.PLATFORM_URL!).port))
    expect((await request(interests)).status).toBe(200)
    await owner.begin(async (sql) => {
      await sql`lock table private.search_models`
      const search = request('/users/search')
      for (const { status } of await Promise.all([interests, interests].map((path) => request(path)))) {
        expect(status).toBe(200)
      }
      const { status, seconds } = await search
      expect(status).toBe(503)
      expect(seconds).toBeLessThan(10)
      await pause(500)
      const waiting = await sql`
        select from pg_locks join pg_stat_activity using (pid)
        where relation = 'private.search_models'::regclass and not granted and application_name = 'edge_functions'`
      expect(waiting.length).toBe(0)
    })
    expect((await request('/users/search')).status).toBe(200)
    expect(ended()).toBe(null)
  })
})

test.concurrent('a process survives repeated connection losses under load', async () => {
  const proxy = await openProxy()
  const { request, ended } = await serveFunctions('edge_functions', proxy.port)
  const until = performance.now() + 8000
  const statuses = new Map<number | undefined, number>()
  const work = async (worker: number) => {
    while (performance.now() < until) {
      // A long query is written at once, a short one in the next turn of the event loop.
      const { status } = await request(worker % 2 ? interests : `/users/search?q=${'hiking '.repeat(70)}${worker}`)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const disconnecting = (async () => {
    while (performance.now() < until) {
      await pause(Math.random() * 60)
      proxy.disconnect()
    }
  })()
  await Promise.all([disconnecting, ...Array.from({ length: 24 }, (_, worker) => work(worker))])
  expect(ended()).toBe(null)
  expect(statuses.get(200), JSON.stringify([...statuses])).toBeGreaterThan(0)
  expect([...statuses.keys()].toSorted(), JSON.stringify([...statuses])).toEqual([200, 503])
})
