// Edge Functions while the network to their database fails in various ways.
import { afterAll, expect, test, vi } from 'vitest'
import { useCopy } from '../tools/copies.ts'
import { runServer } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { openTcpProxy } from '../tools/tcp_proxy.ts'

const { url } = await useCopy('unreachable')

const stops: (() => void)[] = []
afterAll(() => stops.forEach((stop) => stop()))

/** A proxy before the database. */
const openProxy = async () => {
  let dropsBytes = false
  const isHeard = () => !dropsBytes
  const proxy = await openTcpProxy(new URL(url()), () => ({ request: isHeard, answer: isHeard }))
  stops.push(proxy.close)
  return {
    ...proxy,
    /** Drops all bytes silently. */
    dropBytes: () => void (dropsBytes = true),
    /** Works again; all earlier connections are closed. */
    restore: async () => {
      proxy.disconnect()
      dropsBytes = false
      await proxy.listenAgain()
    },
  }
}

/** All functions in one process. */
const serveFunctions = async (port: number) => {
  const { base, stop, ended } = await runServer(['run', '-A', 'bench/endpoints/serve_functions.ts'], {
    EDGE_DATABASE_URL: Object.assign(new URL(url('edge_functions')), { port: `${port}` }).href,
    SUPABASE_SECRET_KEY: testKeys.secretKey,
    // Rate limits are checked and never reached.
    RATE_LIMIT_SEARCH_ANONYMOUS: '100000/60',
    ACCESS_LOG: 'off',
  })
  stops.push(stop)
  const request = async (path: string, headers = {}) => {
    const answer = await fetch(`${base}${path}`, { headers, signal: AbortSignal.timeout(60_000) }).catch(() => null)
    const text = await answer?.text().catch(() => '')
    return { status: answer?.status, text }
  }
  return { request, ended }
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
  if (closes) proxy.stopListening()
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
