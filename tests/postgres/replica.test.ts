// EDGE_DATABASE_READ_URL with a standby that streams from its primary: it lags, stops, returns and is promoted while
// people read.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signToken } from '../tools/jwt.ts'
import { freePort } from '../tools/ports.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { testKeys } from '../tools/stack.ts'
import { eventually, pause } from '../tools/wait.ts'

const bound = 10_000

const folder = mkdtempSync(join(tmpdir(), 'replica-'))
chmodSync(folder, 0o755)
const server = (...args: string[]) => promisify(execFile)('bash', ['tests/postgres/server.sh', ...args])
const [primaryData, standbyData] = [join(folder, 'primary'), join(folder, 'standby')]
const closes: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })]
afterAll(async () => {
  for (const close of closes.reverse()) await close()
})
const open = (port: number, database = 'replicated'): postgres.Sql => {
  const sql = postgres(`postgresql://supabase_admin@127.0.0.1:${port}/${database}`, { max: 2, onnotice: () => {} })
  closes.push(() => sql.end({ timeout: 1 }))
  return sql
}

let primary: postgres.Sql
let standby: postgres.Sql
let users: ServedFunction
let written: number
let hidden: number
let token: string

const addPerson = async (name: string): Promise<{ account: string; profile: number }> => {
  const account = randomUUID()
  await primary`
    insert into auth.users (id, email, email_confirmed_at, raw_user_meta_data)
    values (${account}, ${`${account}@example.com`}, now(), ${primary.json({ name })})`
  const [profile] = await primary<{ id: number }[]>`
    update public.profiles set first_name = ${name}, biography = '0', is_searchable = true
    where user_id = (select id from public.users where auth_id = ${account})
    returning id::int`
  return { account, profile: profile!.id }
}

beforeAll(async () => {
  const [port, standbyPort] = [await freePort(), await freePort()]
  await server('start', primaryData, `${port}`)
  closes.push(() => server('stop', primaryData))
  await open(port, 'postgres').unsafe('create database replicated')
  primary = open(port)
  const psql = (role: string, ...args: string[]) =>
    promisify(execFile)(`${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`, [
      ...['-XqAt', '-v', 'ON_ERROR_STOP=1', `postgresql://${role}@127.0.0.1:${port}/replicated`, ...args],
    ])
  await psql('supabase_admin', '-f', 'tests/postgres/platform.sql')
  await psql(
    'postgres',
    ...readdirSync('supabase/migrations').sort().flatMap((file) => [
      '-f',
      `supabase/migrations/${file}`,
    ]),
  )
  await psql('supabase_admin', '-c', 'alter role edge_functions login')
  await server('standby', standbyData, `${standbyPort}`, `${port}`)
  closes.push(() => server('stop', standbyData).catch(() => {}))
  standby = open(standbyPort)

  written = (await addPerson('Ana')).profile
  const ben = await addPerson('Ben')
  hidden = ben.profile
  const claims = { sub: ben.account, role: 'authenticated', aud: 'authenticated', exp: Date.now() / 1000 + 3600 }
  const issuer = 'http://127.0.0.1:54321'
  token = signToken({ alg: 'HS256', typ: 'JWT' }, { ...claims, iss: `${issuer}/auth/v1` }, testKeys.jwtSecret)
  const database = (port: number) => `postgresql://edge_functions@127.0.0.1:${port}/replicated`
  users = await serveFunction('functions/users/index.ts', {
    EDGE_DATABASE_URL: database(port),
    EDGE_DATABASE_READ_URL: database(standbyPort),
    SUPABASE_URL: issuer,
    JWT_SECRET: testKeys.jwtSecret,
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: testKeys.secretKey }),
    RATE_LIMIT_SEARCH: 'off',
    RATE_LIMIT_SEARCH_ANONYMOUS: '100000/60',
    ACCESS_LOG: 'off',
  })
  closes.push(users.stop)
}, 60_000)

const read = async (path: string, headers: Record<string, string> = {}) => {
  const response = await fetch(`${users.base}/users${path}`, { headers })
  return { status: response.status, body: await response.json() }
}
const profile = () => read(`/${written}`)
const biography = (body: { profile?: { biography: string } }) => Number(body.profile?.biography)
const found = (body: { hits?: { id: number; biography: string }[] }, id = written) =>
  body.hits?.find((hit) => hit.id === id)?.biography
const search = (headers = {}) => read('/search?q=ana', headers)
const uses = (what: 'used' | 'not used') => users.log().split(`"Read replica ${what}"`).length - 1

/**
 * Eight clients read without a log-in while the work is done and a profile is written every 100 ms. No request may
 * fail. Returns how old, in milliseconds, the oldest answer was that began this long after the start, by endpoint.
 */
const underLoad = async (work: () => Promise<void>) => {
  let isOver = false
  let requests = 0
  const wrong: unknown[] = []
  const ages: { began: number; age: number; what: string }[] = []
  const write = async () => {
    while (!isOver) {
      await primary`update public.profiles set biography = ${`${Date.now()}`} where id = ${written}`
      await pause(100)
    }
  }
  const client = async (number: number) => {
    for (let turn = number; !isOver; turn++) {
      const began = Date.now()
      const what = ['profile', 'search', 'interests'][turn % 3]!
      const { status, body } =
        await (what === 'profile' ? profile() : what === 'search' ? search() : read('/interests'))
      requests++
      const time = what === 'profile' ? biography(body) : what === 'search' ? Number(found(body)) : began
      if (status !== 200 || !(time > 0)) wrong.push({ what, status, body })
      ages.push({ began, age: began - time, what })
      await pause(20)
    }
  }
  await primary`update public.profiles set biography = ${`${Date.now()}`} where id = ${written}`
  // The replica has replayed that.
  await pause(500)
  const loads = [write(), ...Array.from({ length: 8 }, (_, number) => client(number))]
  await work().finally(() => isOver = true)
  await Promise.all(loads)
  expect(wrong).toEqual([])
  expect(requests).toBeGreaterThan(50)
  const oldest = (what: string, since = 0): number =>
    Math.max(...ages.filter((one) => one.what === what && one.began >= since).map(({ age }) => age))
  expect(Math.max(oldest('profile'), oldest('search'))).toBeLessThan(bound)
  return oldest
}

/** Reads until the log says that the replica is used again. */
const untilUsed = async (before: number): Promise<void> => {
  const end = Date.now() + 10_000
  while (uses('used') === before && Date.now() < end) {
    await profile()
    await pause(100)
  }
  expect(uses('used')).toBe(before + 1)
}

test('a replica answers, also when nothing is written for longer than it may lag', async () => {
  await untilUsed(0)
  const before = Date.now()
  while (Date.now() - before < 6500) {
    expect((await profile()).status).toBe(200)
    await pause(200)
  }
  expect(uses('not used')).toBe(0)
})

test(
  'one that lags answers for seconds, and then the primary; whoever has logged in reads from the primary',
  async () => {
    const before = uses('used')
    let paused = 0
    const oldest = await underLoad(async () => {
      await pause(1000)
      await standby`select pg_wal_replay_pause()`
      await pause(300)
      paused = Date.now()
      await primary`update public.profiles set is_searchable = false where id = ${hidden}`
      await primary`insert into public.interests (name) values ('Replication')`
      await pause(2000)
      // These come from the replica, which knows of none of it yet.
      expect((await read(`/${hidden}`)).status).toBe(200)
      expect(found((await read('/search?q=ben')).body, hidden)).toBe('0')
      expect(JSON.stringify((await read('/interests')).body)).not.toContain('Replication')
      const own = found((await search({ Authorization: `Bearer ${token}` })).body)
      expect(Number(own)).toBeGreaterThan(paused + 1000)
      await pause(paused + bound - Date.now())
      expect((await read(`/${hidden}`)).status).toBe(403)
      expect(found((await read('/search?q=ben')).body, hidden)).toBeUndefined()
      expect(JSON.stringify((await read('/interests')).body)).toContain('Replication')
    })
    expect(oldest('profile')).toBeGreaterThan(1500)
    expect(oldest('search')).toBeGreaterThan(1500)
    expect(oldest('profile', paused + bound - 1000)).toBeLessThan(1000)
    expect(uses('not used')).toBe(1)
    await standby`select pg_wal_replay_resume()`
    await untilUsed(before)
  },
  40_000,
)

test('one that stops is used again when it is back, and no request fails', async () => {
  const [used, notUsed] = [uses('used'), uses('not used')]
  await underLoad(async () => {
    await pause(1000)
    await server('stop', standbyData)
    await pause(2000)
    expect(uses('not used')).toBe(notUsed + 1)
    await server('again', standbyData)
    await eventually(() => uses('used') > used)
  })
  expect(uses('used')).toBe(used + 1)
}, 30_000)

test('one that was promoted is not used, whatever was written there', async () => {
  const [used, notUsed] = [uses('used'), uses('not used')]
  await underLoad(async () => {
    await pause(500)
    await standby`select pg_promote()`
    // With this biography a profile or hit would count as wrong.
    await standby`update public.profiles set biography = 'Promoted' where id = ${written}`
    await pause(2000)
  })
  expect([uses('used'), uses('not used')]).toEqual([used, notUsed + 1])
}, 30_000)
