import { readFileSync } from 'node:fs'
import { createClient } from '@supabase/supabase-js'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { WebSocket } from 'ws'
import { mailedLinks } from '../tools/own_stack.ts'
import { call, uniqueEmail } from '../tools/people.ts'
import { makeDatabase } from '../tools/postgres.ts'
import { startStack, stopStack } from '../tools/stack.ts'

/** A project with Supabase's own Auth and Storage (tests/platform). */
interface Supplied {
  databaseUrl: string
  /** The file of the mails that were sent. */
  mails: string
  confirmation: boolean
}
declare module 'vitest' {
  interface ProvidedContext {
    supplied: Supplied
  }
}
export const supplied = inject('supplied') as Supplied | undefined
/** Ours is tried with and without e-mail confirmation. */
export const modes = supplied ? [supplied.confirmation] : [false, true]

export const openClient = (origin: string, token?: string, key = inject('stack').publishableKey) =>
  createClient(origin, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: WebSocket as never },
    ...(token && { global: { headers: { Authorization: `Bearer ${token}` } } }),
  })

export const password = 'correct horse'
type Options = Parameters<typeof call>[3]

/** A project for the tests of this file, and what they do with it. Ours has a database of its own. */
export const useProject = (confirmation: boolean) => {
  const stack = inject('stack')
  const project = { confirmation, base: stack.base, origin: stack.origin, output: '', sql: {} as postgres.Sql }
  let process_: Awaited<ReturnType<typeof startStack>>['process']
  beforeAll(async () => {
    const DATABASE_URL = supplied?.databaseUrl ?? await makeDatabase('auth')
    project.sql = postgres(DATABASE_URL, { max: 3, onnotice: () => {} })
    if (supplied) return Object.defineProperty(project, 'output', { get: () => readFileSync(supplied!.mails, 'utf8') })
    const own = await startStack({ DATABASE_URL, EMAIL_CONFIRMATION: confirmation ? 'on' : 'off' })
    process_ = own.process
    Object.assign(project, { base: own.base, origin: new URL(own.base).origin })
    process_.stdout!.on('data', (text) => project.output += text)
  })
  afterAll(async () => {
    await project.sql.end()
    if (process_) await stopStack(process_)
  })

  const ask = (method: string, path: string, body?: unknown, options?: Options) =>
    call(method, project.base + path, body, options)
  const callAuth = (path: string, body: unknown) =>
    call('POST', `${project.origin}/auth/v1/${path}`, body, { headers: { apikey: stack.publishableKey } })
  const register = (fields: object = {}) =>
    ask('POST', '/auth/signup', { email: uniqueEmail(), password, name: 'Somebody', ...fields })
  const create = (fields: object = {}, apikey?: string) =>
    ask('POST', '/users', { email: uniqueEmail(), name: 'Somebody', ...fields }, {
      headers: { ...(apikey && { apikey }) },
    })
  const logIn = (email: string, secret = password) => ask('POST', '/auth/login', { email, password: secret })
  const refresh = (refresh_token: string) => ask('POST', '/auth/refresh', { refresh_token })
  const recover = (email: string) => ask('POST', '/auth/recover', { email })
  const me = (token: string) => ask('GET', '/users/me', undefined, { token })
  const usersWith = (email: string) =>
    project.sql`select id::int, name, role, is_active, auth_id from public.users where email = ${email.toLowerCase()}`
  const links = (email: string, count?: number) => mailedLinks(project, email, count)
  /** What a link leads to: a session, or an error. A page of the app asks before it sends the code. */
  const follow = async (link: string): Promise<Record<string, string>> => {
    if (link.includes('#')) {
      const { body } = await callAuth('verify', Object.fromEntries(new URLSearchParams(new URL(link).hash.slice(1))))
      return body.access_token ? body : { error: body.error_code }
    }
    const { headers, body } = await fetch(link, { redirect: 'manual' })
    await body?.cancel()
    const { hash, search } = new URL(headers.get('Location') ?? 'http://none/#error=none')
    return Object.fromEntries(new URLSearchParams((hash || search).slice(1)))
  }
  /** Follows the newest link. Auth sends a mail before it has committed what its link needs. */
  const confirm = async (email: string, count?: number) => {
    let session: Record<string, string> = {}
    const link = (await links(email, count)).at(-1)!
    await expect.poll(async () => session = await follow(link), { timeout: 20_000 }).toHaveProperty('access_token')
    return session
  }
  /** Somebody with a confirmed account. */
  const person = async (fields: object = {}) => {
    const email = uniqueEmail()
    expect((await register({ email, ...fields })).status).toBe(201)
    if (confirmation) await confirm(email)
    const { body } = await logIn(email)
    return { email, id: body.user.id as number, token: body.access_token as string, session: body }
  }
  const helpers = { callAuth, register, create, logIn, refresh, recover, me, usersWith, links, follow, confirm, person }
  return { project, ask, ...helpers }
}
