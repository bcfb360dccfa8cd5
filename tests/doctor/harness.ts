import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { onTestFinished, vi } from 'vitest'
import { WebSocketServer } from 'ws'
import { dataApiChecks } from '../../scripts/doctor/data_api.mjs'
import { databaseChecks } from '../../scripts/doctor/database.mjs'
import { journeyChecks } from '../../scripts/doctor/journey.mjs'
import { keyChecks } from '../../scripts/doctor/keys.mjs'
import { runCheck } from '../../scripts/doctor/outcome.mjs'
import { openProject } from '../../scripts/doctor/project.mjs'
import { realtimeChecks } from '../../scripts/doctor/realtime.mjs'
import { serviceChecks } from '../../scripts/doctor/service.mjs'
import { storageChecks } from '../../scripts/doctor/storage.mjs'
import { reachability, transportChecks } from '../../scripts/doctor/transport.mjs'
import { listen } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'

/** The status and the detail of each check, by its name. */
type Lines = Record<string, string>
const parse = (output: string): Lines => {
  const found = output.matchAll(/^(ok|FAIL|skip) {2,4}(\S.*?) {2,}(.*)$/gm)
  return Object.fromEntries([...found].map(([, status, what, detail]) => [what, `${status} ${detail}`]))
}

interface Diagnosis {
  code: number
  lines: Lines
  output: string
  errors: string
}
/** Runs `npm run doctor`. */
export const runDoctor = (args: string[], env: Record<string, string | undefined> = {}): Promise<Diagnosis> =>
  new Promise((resolve) => {
    const keys = { SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey, SUPABASE_SECRET_KEY: testKeys.secretKey }
    const options = { env: { ...process.env, ...keys, ...env } }
    execFile('node', ['scripts/doctor/main.mjs', ...args], options, (error, output, errors) => {
      resolve({ code: error ? Number(error.code) : 0, lines: parse(output), output, errors })
    })
  })

export interface Asked {
  method: string
  /** With the query. */
  path: string
  key: string | undefined
  headers: Headers
  body: string
}
export type Forward = (changed?: Partial<Asked>) => Promise<Response>
/** The answer to a request, if it is not the project's own. */
export type Answer = (asked: Asked, forward: Forward) => Response | null | Promise<Response | null>

/** Answers the requests of this process in place of the project at this origin, or passes them on to it. */
const answerRequests = (origin: string, answer: Answer) => {
  const send = globalThis.fetch
  vi.stubGlobal('fetch', async (url: URL, init: RequestInit) => {
    const headers = new Headers(init.headers)
    const [path, key] = [url.pathname + url.search, headers.get('apikey') ?? undefined]
    const asked: Asked = { method: init.method ?? 'GET', path, key, headers, body: `${init.body ?? ''}` }
    const forward: Forward = (changed = {}) => {
      const { method, path, headers, body } = { ...asked, ...changed }
      return send(origin + path, { ...init, method, headers, body: body || undefined })
    }
    return await answer(asked, forward) ?? await forward()
  })
}

export type Reply = { status: string; response: Record<string, unknown> }
/** A Realtime that answers each join so, says this first, and sends no events; with the HTTP server that it is on. */
export const openRealtime = async (join: (topic: string) => Reply, noise = '', server: Server = createServer()) => {
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    if (noise) socket.send(noise)
    socket.on('message', (data) => {
      const { topic, ...frame } = JSON.parse(String(data))
      const payload = join(topic.replace('realtime:', ''))
      socket.send(JSON.stringify({ ...frame, topic, event: 'phx_reply', payload }))
    })
  })
  onTestFinished(() => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${await listen(server)}`
}
export const isJoined = (): Reply => ({ status: 'ok', response: { postgres_changes: [] } })
export const isRefused = (reason: string) => (): Reply => ({ status: 'error', response: { reason } })

const allChecks = [
  ...[[reachability], transportChecks, serviceChecks, keyChecks, dataApiChecks, realtimeChecks, storageChecks].flat(),
  ...databaseChecks,
] as [string, (project: unknown) => unknown][]

interface Surroundings {
  answer?: Answer
  /** Where the project is said to be, and where its Realtime is. */
  url?: string
  secretKey?: string
  milliseconds?: number
}
/** Runs one check in this process, or with `write` those that sign up two people. */
export const diagnose = async (
  origin: string,
  name: string,
  { answer = () => null, url = origin, secretKey = testKeys.secretKey, milliseconds = 30_000 }: Surroundings = {},
): Promise<Lines> => {
  answerRequests(origin, answer)
  const { publishableKey } = testKeys
  const project = openProject({ url: new URL(url), publishableKey, secretKey, timeout: milliseconds })
  const checks = name === 'write'
    ? journeyChecks(project)
    : allChecks.filter(([what]) => what === name || name === 'all')
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  for (const [what, check] of checks as typeof allChecks) await runCheck(what, () => check(project))
  const output = log.mock.calls.join('\n')
  log.mockRestore()
  vi.unstubAllGlobals()
  return parse(output)
}
