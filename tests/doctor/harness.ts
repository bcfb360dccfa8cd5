import { execFile } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { promisify } from 'node:util'
import { onTestFinished, vi } from 'vitest'
import { WebSocketServer } from 'ws'
import { checksOf } from '../../scripts/doctor/checks.mjs'
import { journey } from '../../scripts/doctor/journey.mjs'
import { report } from '../../scripts/doctor/outcome.mjs'
import { openProject } from '../../scripts/doctor/project.mjs'
import { listen } from '../tools/ports.ts'
import { testKeys } from '../tools/stack.ts'

/** The status and the detail of each check, by its name. */
type Lines = Record<string, string>
const parse = (output: string): Lines => {
  const found = output.matchAll(/^(ok|FAIL) {2,4}(\S.*?) {2,}(.*)$/gm)
  return Object.fromEntries([...found].map(([, status, what, detail]) => [what, `${status} ${detail}`]))
}

const run = promisify(execFile)
export const keys = { SUPABASE_PUBLISHABLE_KEY: testKeys.publishableKey, SUPABASE_SECRET_KEY: testKeys.secretKey }
export const runDoctor = async (args: string[], env: Record<string, string | undefined> = {}) => {
  const options = { env: { ...process.env, ...keys, ...env } }
  const { code = 0, stdout, stderr } = await run('node', ['scripts/doctor/main.mjs', ...args], options)
    .catch((error) => error)
  return { code, lines: parse(stdout), output: stdout as string, errors: stderr as string }
}

export interface Asked {
  method: string
  /** With the query. */
  path: string
  key: string | null
  headers: Headers
  body: string
}
export type Forward = (changed?: Partial<Asked>) => Promise<Response>
/** The answer to a request, if it is not the project's own. */
export type Answer = (asked: Asked, forward: Forward) => Response | null | Promise<Response | null>

/** Answers the requests of this process in place of the project at this origin, or passes them on to it. */
const answerRequests = (origin: string, answer: Answer) => {
  const send = globalThis.fetch
  vi.stubGlobal('fetch', async ({ pathname, search }: URL, init: RequestInit) => {
    const headers = new Headers(init.headers)
    const asked = { method: init.method!, path: pathname + search, key: headers.get('apikey'), headers }
    const forward: Forward = (changed = {}) => {
      const { path, ...request } = { ...asked, body: init.body as string, ...changed }
      return send(origin + path, { ...init, ...request })
    }
    return await answer({ ...asked, body: `${init.body ?? ''}` }, forward) ?? await forward()
  })
}

/** The address of this server, until the test ends. */
export const serve = async (server: Server): Promise<string> => {
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${await listen(server)}`
}

export type Reply = { status: string; response: Record<string, unknown> }
/** A Realtime that answers each join so, says this first, and sends no events; with the HTTP server that it is on. */
export const openRealtime = async (
  join: (topic: string, isPrivate: boolean) => Reply,
  noise = '',
  server: Server = createServer(),
) => {
  const sockets = new WebSocketServer({ server })
  sockets.on('connection', (socket) => {
    if (noise) socket.send(noise)
    socket.on('message', (data) => {
      const { topic, payload: { config }, ...frame } = JSON.parse(String(data))
      const payload = join(topic.replace('realtime:', ''), config.private)
      socket.send(JSON.stringify({ ...frame, topic, event: 'phx_reply', payload }))
    })
  })
  onTestFinished(() => sockets.clients.forEach((socket) => socket.terminate()))
  return await serve(server)
}
export const isJoined = (): Reply => ({ status: 'ok', response: { postgres_changes: [] } })
export const isRefused = (reason: string) => (): Reply => ({ status: 'error', response: { reason } })

/** Makes one check in this process, or with the name `all` all but `write`. */
export const diagnose = async (origin: string, name: string, surroundings: {
  answer?: Answer
  /** Where the project is said to be, and where its Realtime is. */
  url?: string
  milliseconds?: number
} = {}): Promise<Lines> => {
  const { answer = () => null, url = origin, milliseconds = 30_000 } = surroundings
  answerRequests(origin, answer)
  const project = openProject({ ...testKeys, url: new URL(url), timeout: milliseconds })
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  const checks = Object.entries({ ...checksOf(project), ...(name === 'write' && { write: () => journey(project) }) })
  for (const [what, work] of checks) if (what === name || name === 'all') await report(what, work)
  const output = log.mock.calls.join('\n')
  log.mockRestore()
  vi.unstubAllGlobals()
  return parse(output)
}
