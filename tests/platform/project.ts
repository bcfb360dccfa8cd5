import { createClient } from '@supabase/supabase-js'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterAll, beforeAll } from 'vitest'
import ws from 'ws'
import { freePort } from '../tools/ports.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { platform } from '../tools/supabase.ts'
import { startAuth } from './auth_server.ts'
import { copyDatabase } from './databases.ts'
import { openGateway } from './gateway.ts'
import { publishableKey, secretKey } from './keys.ts'
import { openMailServer } from './mail_server.ts'
import type { Server } from './processes.ts'
import { startStorage } from './storage_server.ts'

interface Settings {
  /** Of Auth. */
  auth?: Record<string, string> | (() => Promise<Record<string, string>>)
  /** Of the functions. */
  functions?: Record<string, string>
  storage?: boolean
}

interface Answer {
  status: number
  // Tests assert the shape.
  // deno-lint-ignore no-explicit-any
  body: any
  headers: Headers
}

const unlimited = ['SIGNUP', 'LOGIN', 'REFRESH', 'RECOVER', 'PROFILE', 'SEND', 'OPEN']
  .map((name) => [`RATE_LIMIT_${name}`, 'off'])

/** A project for the tests of this file or block: a database, Auth, a mail server, the functions, and a gateway. */
export const useProject = ({ auth = {}, functions = {}, storage = false }: Settings = {}) => {
  const project = {} as {
    origin: string
    sql: postgres.Sql
    mail: Awaited<ReturnType<typeof openMailServer>>
    functionLog: () => string
    /** The folder where Storage keeps the files. */
    files: string
  }
  const served: ServedFunction[] = []
  const servers: Server[] = []
  const files = mkdtempSync(join(tmpdir(), 'storage-'))
  let gateway: Awaited<ReturnType<typeof openGateway>>

  beforeAll(async () => {
    const database = await copyDatabase()
    project.sql = postgres(platform(database, 'supabase_admin'), { max: 2, onnotice: () => {} })
    project.mail = await openMailServer()
    const [authPort, storagePort] = [await freePort(), await freePort()]
    const routes = new Map([
      ['/auth/v1', `http://127.0.0.1:${authPort}`],
      ['/storage/v1', `http://127.0.0.1:${storagePort}`],
    ])
    gateway = await openGateway(routes)
    const { origin } = gateway
    project.origin = origin
    project.files = files
    const env = typeof auth === 'function' ? await auth() : auth
    servers.push(await startAuth({ database, origin, port: authPort, mailPort: project.mail.port }, env))
    if (storage) servers.push(await startStorage({ database, port: storagePort, files }))
    const environment = {
      SUPABASE_URL: origin,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: publishableKey }),
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
      SUPABASE_DB_URL: platform(database),
      ...Object.fromEntries(unlimited),
      ...functions,
    }
    for (const name of ['auth', 'users', 'conversations']) {
      const one = await serveFunction(`functions/${name}/index.ts`, environment)
      served.push(one)
      routes.set(`/functions/v1/${name}`, `${one.base}/${name}`)
    }
    project.functionLog = () => served.map(({ log }) => log()).join('\n')
  })
  afterAll(async () => {
    for (const one of served) one.stop()
    for (const server of servers) await server.stop()
    gateway?.close()
    project.mail?.close()
    await project.sql?.end()
    rmSync(files, { recursive: true })
  })

  /** Calls an Edge Function. */
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    options: { token?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> => {
    const response = await fetch(`${project.origin}/functions/v1${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(options.token && { Authorization: `Bearer ${options.token}` }),
        ...options.headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined }
  }

  /** supabase-js, as an app uses it. */
  const client = (token?: string) =>
    createClient(project.origin, publishableKey, {
      auth: { persistSession: false, autoRefreshToken: false },
      realtime: { transport: ws as never },
      ...(token && { global: { headers: { Authorization: `Bearer ${token}` } } }),
    })

  let count = 0
  const newEmail = (): string => `person${process.pid}.${Date.now()}.${count++}@example.com`

  /** Follows a link from a mail, and returns the session or the error in the address that Auth redirects to. */
  const follow = async (link: string): Promise<Record<string, string>> => {
    const { headers } = await fetch(link, { redirect: 'manual' })
    return Object.fromEntries(new URLSearchParams(new URL(headers.get('Location')!).hash.slice(1)))
  }

  return { project, call, client, newEmail, follow }
}
