// EDGE_DATABASE_READ_URL with a standby that streams from its primary: it lags, stops and returns while people read.
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { signToken } from '../tools/jwt.ts'
import { freePort } from '../tools/ports.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const folder = mkdtempSync(join(tmpdir(), 'replica-'))
chmodSync(folder, 0o755)
const [primaryData, standbyData] = [join(folder, 'primary'), join(folder, 'standby')]
const server = (...args: string[]) => promisify(execFile)('bash', ['tests/postgres/server.sh', ...args])
const closes: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
afterAll(async () => {
  for (const close of closes.reverse()) await close()
})

const account = '00000000-0000-4000-8000-00000000000a'
let primary: postgres.Sql
let standby: postgres.Sql
let users: ServedFunction
let profile: number
let token: string

beforeAll(async () => {
  const [port, standbyPort] = [await freePort(), await freePort()]
  const url = (role: string, at = port) => `postgresql://${role}@127.0.0.1:${at}/postgres`
  await server('start', primaryData, `${port}`)
  closes.push(() => server('stop', primaryData))
  const psql = (role: string, ...files: string[]) =>
    promisify(execFile)(`${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`, [
      ...['-XqAt', '-v', 'ON_ERROR_STOP=1', url(role), ...files.flatMap((file) => ['-f', file])],
    ])
  await psql('supabase_admin', 'tests/postgres/platform.sql')
  await psql('postgres', ...readdirSync('supabase/migrations').sort().map((file) => `supabase/migrations/${file}`))
  const open = (at: number): postgres.Sql => {
    const sql = postgres(url('supabase_admin', at), { max: 2, onnotice: () => {} })
    closes.push(() => sql.end({ timeout: 1 }))
    return sql
  }
  primary = open(port)
  await primary`alter role edge_functions login`
  await server('standby', standbyData, `${standbyPort}`, `${port}`)
  closes.push(() => server('stop', standbyData).catch(() => {}))
  standby = open(standbyPort)

  await primary`insert into auth.users (id, email, email_confirmed_at) values (${account}, 'ana@example.com', now())`
  const [made] = await primary`
    update public.profiles set biography = 'Old', is_searchable = true returning id::int`
  profile = made!.id
  const issuer = 'http://127.0.0.1:54321'
  const claims = { sub: account, role: 'authenticated', aud: 'authenticated', exp: Date.now() / 1000 + 3600 }
  token = signToken({ alg: 'HS256', typ: 'JWT' }, { ...claims, iss: `${issuer}/auth/v1` }, testKeys.jwtSecret)
  users = await serveFunction('functions/users/index.ts', {
    EDGE_DATABASE_URL: url('edge_functions'),
    EDGE_DATABASE_READ_URL: url('edge_functions', standbyPort),
    SUPABASE_URL: issuer,
    JWT_SECRET: testKeys.jwtSecret,
    RATE_LIMIT_SEARCH: 'off',
    RATE_LIMIT_SEARCH_ANONYMOUS: 'off',
    ACCESS_LOG: 'off',
  })
  closes.push(users.stop)
}, 60_000)

const read = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${users.base}/users${path}`, { headers })
  return { status: response.status, body: await response.json() }
}
const statusOf = async () => (await read(`/${profile}`)).status
const seenBy = async (headers = {}) => (await read('/search?q=old', headers)).body.hits?.length
const uses = (what: 'used' | 'not used') => users.log().split(`"Read replica ${what}"`).length - 1
/** Reads, of which none may fail, until the log says so once more. */
const until = async (what: 'used' | 'not used', before: number): Promise<void> => {
  await vi.waitFor(async () => {
    expect([200, 403]).toContain(await statusOf())
    expect(uses(what)).toBe(before + 1)
  }, { timeout: 40_000, interval: 100 })
}

test(
  'a replica that lags answers for seconds, and then the primary; who has logged in reads from the primary',
  async () => {
    await until('used', 0)
    await standby`select pg_wal_replay_pause()`
    await pause(300)
    await primary`update public.profiles set is_searchable = false`
    const hidden = Date.now()
    // The replica knows nothing of it yet.
    expect([await statusOf(), await seenBy()]).toEqual([200, 1])
    expect(await seenBy({ Authorization: `Bearer ${token}` })).toBe(0)
    await until('not used', 0)
    expect([await statusOf(), await seenBy()]).toEqual([403, 0])
    expect(Date.now() - hidden).toBeLessThan(10_000)
    await standby`select pg_wal_replay_resume()`
    await until('used', 1)
  },
  60_000,
)

test('one that stops is used again when it is back, and one that was promoted is not', async () => {
  await server('stop', standbyData)
  await until('not used', 1)
  await server('again', standbyData)
  await until('used', 2)
  await standby`select pg_promote()`
  await standby`update public.profiles set is_searchable = true`
  await until('not used', 2)
  expect([await statusOf(), await seenBy()]).toEqual([403, 0])
}, 60_000)
