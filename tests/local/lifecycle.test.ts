import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { call } from '../tools/people.ts'
import { checkOutRelease } from '../tools/release.ts'
import { copyPreparedData, dashboardCookie, startStack, stopStack, testKeys } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const folders: string[] = []
const folder = (): string => {
  folders.push(fs.mkdtempSync(join(tmpdir(), 'stack-')))
  return folders.at(-1)!
}
afterAll(() => folders.forEach((path) => fs.rmSync(path, { recursive: true, force: true })))

const deno = `${process.cwd()}/node_modules/.bin/deno`
const modeOf = (...path: string[]) => fs.statSync(join(...path)).mode & 0o777

/** Runs a script of the stack until it ends by itself. */
const run = async (env: Record<string, string> = {}, args: string[] = [], cwd = process.cwd()) => {
  const stack = spawn(deno, ['run', '-A', 'supabase/local/main.ts', ...args], {
    cwd,
    env: { ...process.env, PORT: '0', DATA_DIR: 'memory', SEED: 'none', DATABASE_URL: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // One that starts after all.
    timeout: 120_000,
  })
  let [stdout, stderr] = ['', '']
  stack.stdout.on('data', (chunk) => stdout += chunk)
  stack.stderr.on('data', (chunk) => stderr += chunk)
  const [code] = await once(stack, 'close')
  return { code, stdout, stderr }
}
const refusal = (line: string | RegExp) => ({
  code: 1,
  stderr: typeof line === 'string' ? `${line}\n` : expect.stringMatching(new RegExp(`^${line.source}\n$`)),
})

// A start takes a second or two, and on a busy machine much longer.
const timeout = 300_000

test('the stack does not start with what it cannot use, and says so in one line', { timeout }, async () => {
  const [wrongKeys, wrongDatabase] = [folder(), folder()]
  fs.writeFileSync(join(wrongKeys, 'keys.json'), '{}')
  fs.mkdirSync(join(wrongDatabase, 'postgres'))
  fs.writeFileSync(join(wrongDatabase, 'postgres', 'PG_VERSION'), '17\n')
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const cases: [Record<string, string>, string | RegExp][] = [
    [{ DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' }, /The database of DATABASE_URL cannot be reached: .+/],
    [{ DATA_DIR: '/dev/null/data' }, /DATA_DIR \/dev\/null\/data cannot be used: .+/],
    [{ PORT: `${port}` }, `Port ${port} is in use; stop what listens there, or set PORT to another`],
    [
      { DATA_DIR: wrongKeys },
      `${wrongKeys}/keys.json does not hold the project's keys; restore it, or remove it for new ones`,
    ],
    [
      { DATA_DIR: wrongDatabase },
      /.+ holds no database that can be opened: .+; restore it .+, or move .+ start anew/,
    ],
  ]
  for (const [env, line] of cases) expect([env, await run(env)]).toEqual([env, expect.objectContaining(refusal(line))])
  expect(await run({}, ['--port=80'])).toMatchObject(
    refusal('--port=80 is unknown; docs/settings.md lists the settings'),
  )
})

test('npm start reads .env, and the environment wins', { timeout }, () => {
  const checkout = folder()
  for (const name of ['package.json', 'functions', 'supabase', 'sql', 'clients', 'node_modules']) {
    fs.symlinkSync(join(process.cwd(), name), join(checkout, name))
  }
  const { start } = JSON.parse(fs.readFileSync('package.json', 'utf8')).scripts
  const startWith = (PORT?: string) =>
    spawnSync('sh', ['-c', `PATH="$PWD/node_modules/.bin:$PATH"; ${start}`], {
      cwd: checkout,
      env: { ...process.env, PORT, JWT_SECRET: '', DATABASE_URL: '' },
      encoding: 'utf8',
    }).stderr
  fs.writeFileSync(join(checkout, '.env'), 'PORT="http"\n')
  expect(startWith()).toBe('PORT is "http", and must be a number from 0 to 65535\n')
  expect(startWith('ftp')).toBe('PORT is "ftp", and must be a number from 0 to 65535\n')
})

/** Runs this code in a process of its own, from when it says `now`. */
const evaluate = async (code: string) => {
  const process_ = spawn(deno, ['eval', code], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 200_000,
    killSignal: 'SIGKILL',
  })
  let stderr = ''
  process_.stderr.on('data', (chunk) => stderr += chunk)
  await once(process_.stdout, 'data')
  return { process: process_, ended: once(process_, 'close').then(([code, signal]) => ({ code, signal, stderr })) }
}

test('a PANIC of PGlite ends the process with a sentence', { timeout }, async () => {
  const data = await copyPreparedData()
  folders.push(data)
  const { ended } = await evaluate(`
    import { openPglite } from './supabase/local/database.ts'
    const { query, run } = await openPglite('${data}')
    await run('create table notes (x int)')
    Deno.removeSync('${data}/postgres/pg_wal', { recursive: true })
    await query('select pg_switch_wal()', [])
    console.log('now')
    await query('insert into notes values (1)', []).catch(() => {})
    await query('select 1', [])`)
  const stderr = expect.stringMatching(
    /^The database has stopped, and the service with it: could not .+ start again\.\n$/,
  )
  expect(await ended).toEqual({ code: 1, signal: null, stderr })
})

test('a signal ends the process also while a statement keeps its thread', { timeout }, async () => {
  const { process: busy, ended } = await evaluate(`
    import { hashInSecondThread } from './supabase/local/hashing.ts'
    import bcrypt from 'bcryptjs'
    hashInSecondThread()
    Deno.addSignalListener('SIGTERM', () => {})
    // The second thread has answered, so it listens.
    await bcrypt.compare('x', '')
    console.log('now')
    for (;;);`)
  busy.kill()
  expect(await ended).toEqual({ code: null, signal: 'SIGKILL', stderr: '' })
})

/** Sends the start of a body, and resolves when the server waits for the rest. */
const startPost = async (url: string, body: string): Promise<{ finish: () => void; status: Promise<number> }> => {
  const length = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const sending = request(url, { method: 'POST', headers: { ...length, Expect: '100-continue' } })
  const status = once(sending, 'response').then(([response]) => response.resume().statusCode)
  sending.flushHeaders()
  // The server answers 100 Continue when it reads the body, so the request has reached its handler.
  await Promise.race([once(sending, 'continue'), status])
  sending.write(body.slice(0, 20))
  return { finish: () => sending.end(body.slice(20)), status }
}

// One folder from its first start to its reset, test after test, because each start of a stack takes seconds.
describe('a data folder', { timeout }, () => {
  const DATA_DIR = folder()
  // Without configured keys, which would hide whether those of the first start are kept.
  const env = { DATA_DIR, JWT_SECRET: '', SUPABASE_PUBLISHABLE_KEY: '', SUPABASE_SECRET_KEY: '' }
  const account = { email: 'ana@example.com', password: 'correct horse' }
  const release = checkOutRelease()
  folders.push(release)
  let stack: Awaited<ReturnType<typeof startStack>>
  let token = ''
  let session = ''
  const signIn = async () => (await call('POST', `${stack.base}/auth/login`, account)).status
  const readMessages = async () =>
    (await call('GET', `${stack.base}/conversations/1/messages`, undefined, { token })).body
  let messages: unknown[] = []
  const expectProfile = async () => {
    const { body } = await call('GET', `${stack.base}/users/me`, undefined, { token })
    expect(body).toMatchObject({ email: account.email, name: 'Ana' })
  }
  const inUse = `DATA_DIR ${DATA_DIR} is in use by another server; stop that one or choose another folder`

  test('is made anew if the first start was interrupted', async () => {
    const first = spawn(deno, ['run', '-A', 'supabase/local/main.ts'], {
      env: { ...process.env, PORT: '0', SEED: 'none', ...env },
      stdio: 'ignore',
    })
    // While initdb runs.
    while (!fs.existsSync(join(DATA_DIR, 'postgres', 'base'))) await pause(20)
    first.kill('SIGKILL')
    await once(first, 'exit')
    expect(fs.existsSync(join(DATA_DIR, 'postgres.making'))).toBe(true)
    fs.chmodSync(DATA_DIR, 0o777)
    // By the last release; what follows upgrades it.
    stack = await startStack(env, release)
    const { status, body } = await call('POST', `${stack.base}/auth/signup`, { ...account, name: 'Ana' })
    expect(status).toBe(201)
    token = body.access_token
    const { body: { user: ben } } = await call('POST', `${stack.base}/auth/signup`, {
      ...account,
      email: 'ben@example.com',
      name: 'Ben',
    })
    await call('POST', `${stack.base}/conversations`, { other_user_id: ben.id }, { token })
    await call('POST', `${stack.base}/conversations/1/messages`, { content: 'Hello' }, { token })
    messages = await readMessages()
    expect(messages).toMatchObject([{ content: 'Hello' }])
    session = (await dashboardCookie(stack.dashboard)).split('=')[1]!
  })

  test('is closed to other users of the machine, also if it was open, and used by one server at a time', async () => {
    expect([modeOf(DATA_DIR, 'postgres'), modeOf(DATA_DIR, 'keys.json')]).toEqual([0o700, 0o600])
    expect(await run({ DATA_DIR })).toMatchObject(refusal(inUse))
  })

  test('keeps acknowledged writes and the keys after a kill and an upgrade, but no link of the dashboard', async () => {
    stack.process.kill('SIGKILL')
    await once(stack.process, 'exit')
    fs.chmodSync(join(DATA_DIR, 'postgres'), 0o755)
    const link = new URL(stack.dashboard)
    stack = await startStack(env, process.cwd(), ['npm', 'start'])
    const { origin, port } = new URL(stack.base)
    const stale = await fetch(`${origin}/${link.search}`, { redirect: 'manual' })
    expect([stale.status, stale.headers.get('Set-Cookie')]).toEqual([401, null])
    const headers = { Cookie: `dashboard_${port}=${session}` }
    expect((await fetch(`${origin}/_system/info`, { headers })).status).toBe(404)
    await expectProfile()
    expect(await signIn()).toBe(200)
    expect(await readMessages()).toEqual(messages)
  })

  test('npm start forwards a signal: requests in flight are answered, but one that hangs, others refused', async () => {
    // Cheap ones, because the stack waits for four seconds, however busy the machine is.
    const refresh = () => startPost(`${stack.base}/auth/refresh`, JSON.stringify({ refresh_token: 'x' }))
    const inFlight = await Promise.all([refresh(), refresh(), refresh()])
    const hanging = (await refresh()).status.catch(() => 'aborted')
    const exited = once(stack.process, 'exit')
    stack.process.kill('SIGINT')
    const rejected = await vi.waitUntil(async () => {
      const response = await fetch(`${stack.base}/health`)
      return response.status === 200 ? false : response
    }, { timeout: 60_000, interval: 10 })
    expect([rejected.status, await rejected.json()]).toEqual([503, { error: 'The service is stopping' }])
    for (const { finish } of inFlight) finish()
    expect(await Promise.all(inFlight.map(({ status }) => status))).toEqual([401, 401, 401])
    expect(await hanging).toBe('aborted')
    expect((await exited)[0]).toBe(0)
    await expect(fetch(`${stack.base}/health`)).rejects.toThrow()
    // It was opened before the start.
    expect(modeOf(DATA_DIR, 'postgres')).toBe(0o700)
  })

  test('is backed up by a copy, which takes a later migration, of a concurrent index, and no way back', async () => {
    const [copy, checkout] = [folder(), folder()]
    fs.cpSync(DATA_DIR, copy, { recursive: true })
    for (const name of ['deno.json', 'package.json', 'clients', 'demo', 'functions', 'node_modules', 'sql']) {
      fs.symlinkSync(join(process.cwd(), name), join(checkout, name))
    }
    fs.cpSync('supabase', join(checkout, 'supabase'), { recursive: true })
    const script = 'create index concurrently later_idx on public.messages (created_at)'
    fs.writeFileSync(join(checkout, 'supabase/migrations/99990101000000_later.sql'), script)
    stack = await startStack({ ...env, DATA_DIR: copy, SUPABASE_SECRET_KEY: testKeys.secretKey }, checkout)
    onTestFinished(() => stopStack(stack.process))
    expect(await signIn()).toBe(200)
    await expectProfile()
    const metrics = await fetch(`${stack.base}/health/metrics`, { headers: { apikey: testKeys.secretKey } })
    expect(await metrics.text()).toMatch(/^database_migration\{version="99990101000000",sha256="\w{64}"\} 1$/m)
    await stopStack(stack.process)
    const line = /The database has a migration that is not in this folder \(99990101000000\); start from .+/
    expect(await run({ DATA_DIR: copy })).toMatchObject(refusal(line))
  })
})
