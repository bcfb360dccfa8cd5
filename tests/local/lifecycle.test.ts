import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { dashboardCookie, startStack, stopStack } from '../tools/stack.ts'
import { pause } from '../tools/wait.ts'

const folders: string[] = []
const folder = (): string => {
  folders.push(mkdtempSync(join(tmpdir(), 'stack-')))
  return folders.at(-1)!
}
afterAll(() => folders.forEach((path) => rmSync(path, { recursive: true, force: true })))

/** Runs the stack until it ends by itself. */
const run = async (
  env: Record<string, string>,
  cwd = process.cwd(),
): Promise<{ code: number | null; stderr: string }> => {
  const process_ = spawn(`${process.cwd()}/node_modules/.bin/deno`, ['run', '-A', 'supabase/local/main.ts'], {
    cwd,
    env: { ...process.env, PORT: '0', DATA_DIR: 'memory', SEED: 'none', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  process_.stderr!.on('data', (chunk) => stderr += chunk)
  const [code] = await once(process_, 'exit')
  return { code, stderr }
}

const post = (base: string, path: string, body: unknown, token?: string) =>
  fetch(base + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })

const killed = async (process_: ChildProcess): Promise<void> => {
  const exited = once(process_, 'exit')
  process_.kill('SIGKILL')
  await exited
}

test.each([
  ['a JWT_SECRET under 32 characters', { JWT_SECRET: 'short' }, /^JWT_SECRET has 5 characters; give it 32 or more\n$/],
  ['a PORT that is no port', { PORT: 'http' }, /^PORT is "http", and must be a number from 0 to 65535\n$/],
  ['an unknown SEED', { SEED: 'big' }, /^SEED is "big", and must be demo or none\n$/],
  [
    'an unknown EMAIL_CONFIRMATION',
    { EMAIL_CONFIRMATION: 'yes' },
    /^EMAIL_CONFIRMATION is "yes", and must be off or on\n$/,
  ],
  [
    'a limit that is none',
    { RATE_LIMIT_SEND: 'many' },
    /^RATE_LIMIT_SEND is "many", and must be count\/seconds, count\/seconds\/burst or off\n$/,
  ],
  ['a limit of nothing', { RATE_LIMIT_SIGNUP: '0/60' }, /^RATE_LIMIT_SIGNUP is "0\/60", and must be .+\n$/],
  ['a burst beyond its limit', { RATE_LIMIT_OPEN: '5/60/6' }, /^RATE_LIMIT_OPEN is "5\/60\/6", and must be .+\n$/],
  [
    'a number of proxies that is none',
    { TRUSTED_PROXIES: '-1' },
    /^TRUSTED_PROXIES is "-1", and must be a number from 1 to 9\n$/,
  ],
  ['a queue for nobody', { DATABASE_QUEUE: '0' }, /^DATABASE_QUEUE is "0", and must be a number from 1 to 999999\n$/],
  [
    'searches on every connection',
    { SEARCH_CONCURRENCY: '6' },
    /^SEARCH_CONCURRENCY is "6", and must be a number from 1 to 5\n$/,
  ],
  [
    'searches on all of three connections',
    { DATABASE_POOL: '3', SEARCH_CONCURRENCY: '3' },
    /^SEARCH_CONCURRENCY is "3", and must be a number from 1 to 2\n$/,
  ],
  ['a DATABASE_URL that is none', { DATABASE_URL: 'mysql://x' }, /^DATABASE_URL must look like postgresql:\/\/\S+\n$/],
  [
    'a database that is not there',
    { DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' },
    /^The database of DATABASE_URL cannot be reached: .+\n$/,
  ],
  ['a DATA_DIR that is no folder', { DATA_DIR: '/dev/null/data' }, /^DATA_DIR \/dev\/null\/data cannot be used: .+\n$/],
])('the stack refuses %s in one line', async (_, env, line) => {
  const { code, stderr } = await run(env)
  expect(stderr).toMatch(line)
  expect(code).toBe(1)
})

test('the stack refuses a port that is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const { code, stderr } = await run({ PORT: String(port) })
  other.close()
  expect(stderr).toBe(`Port ${port} is in use; stop what listens there, or set PORT to another\n`)
  expect(code).toBe(1)
})

test('nobody else on the machine can open the database, in a folder that was open to everybody too', async () => {
  const DATA_DIR = folder()
  chmodSync(DATA_DIR, 0o777)
  const { process: process_ } = await startStack({ DATA_DIR })
  await stopStack(process_)
  expect(statSync(join(DATA_DIR, 'postgres')).mode & 0o777).toBe(0o700)
  expect(statSync(join(DATA_DIR, 'keys.json')).mode & 0o777).toBe(0o600)
  chmodSync(join(DATA_DIR, 'postgres'), 0o755)
  const again = await startStack({ DATA_DIR })
  expect((await fetch(`${again.base}/health`)).status).toBe(200)
  await stopStack(again.process)
  expect(statSync(join(DATA_DIR, 'postgres')).mode & 0o777).toBe(0o700)
})

test('a folder of another baseline is refused in one line, and stays as it is', async () => {
  const DATA_DIR = folder()
  const earlier = await startStack({ DATA_DIR })
  await stopStack(earlier.process)
  const copy = join(folder(), 'checkout')
  cpSync('.', copy, {
    recursive: true,
    filter: (path) => !/^(node_modules|\.git|\.cache|\.data)(\/|$)/.test(path),
  })
  symlinkSync(`${process.cwd()}/node_modules`, join(copy, 'node_modules'))
  appendFileSync(join(copy, 'supabase/migrations', readdirSync('supabase/migrations').sort()[0]!), '\nselect 1;\n')
  expect(await run({ DATA_DIR }, copy)).toEqual({
    code: 1,
    stderr: expect.stringMatching(
      /^The database was made by an earlier version of the schema \(migration \d+\); move DATA_DIR away .+\n$/,
    ),
  })
  // With the sources that made it, it opens as before.
  const again = await startStack({ DATA_DIR })
  expect((await fetch(`${again.base}/health`)).status).toBe(200)
  await stopStack(again.process)
})

test('what was acknowledged survives a kill and a restart, and one server at a time has the folder', async () => {
  const DATA_DIR = folder()
  // Keys made on first start are kept; given ones would hide whether they are.
  const given = { DATA_DIR, JWT_SECRET: '', SUPABASE_PUBLISHABLE_KEY: '', SUPABASE_SECRET_KEY: '' }
  const first = await startStack(given)
  const email = 'ana@example.com'
  const signUp = await post(first.base, '/auth/signup', { email, password: 'correct horse', name: 'Ana' })
  expect(signUp.status).toBe(201)
  const { access_token } = await signUp.json()
  expect(statSync(join(DATA_DIR, 'keys.json')).mode & 0o777).toBe(0o600)

  const rival = await run({ DATA_DIR })
  expect(rival).toEqual({
    code: 1,
    stderr: `DATA_DIR ${DATA_DIR} is in use by another server; stop that one or choose another folder\n`,
  })

  const [, session] = (await dashboardCookie(first.dashboard)).split('=')
  await killed(first.process)
  const second = await startStack(given)
  // The keys are those of the start before, what opens the dashboard is not.
  const { origin, port } = new URL(second.base)
  const stale = await fetch(`${origin}/${new URL(first.dashboard).search}`, { redirect: 'manual' })
  expect([stale.status, stale.headers.get('Set-Cookie')]).toEqual([401, null])
  const headers = { Cookie: `dashboard_${port}=${session}` }
  expect((await fetch(`${origin}/_system/info`, { headers })).status).toBe(404)
  const me = await fetch(`${second.base}/users/me`, { headers: { Authorization: `Bearer ${access_token}` } })
  expect(await me.json()).toMatchObject({ email, name: 'Ana' })
  const login = await post(second.base, '/auth/login', { email, password: 'correct horse' })
  expect(login.status).toBe(200)

  const before = Date.now()
  await stopStack(second.process)
  expect(Date.now() - before).toBeLessThan(10_000)
  expect(second.process.exitCode).toBe(0)

  const third = await startStack(given)
  expect((await post(third.base, '/auth/login', { email, password: 'correct horse' })).status).toBe(200)
  await stopStack(third.process)

  // A copy of the folder of a stack that is stopped is a backup.
  const copy = folder()
  cpSync(DATA_DIR, copy, { recursive: true })
  const fourth = await startStack({ ...given, DATA_DIR: copy })
  const again = await fetch(`${fourth.base}/users/me`, { headers: { Authorization: `Bearer ${access_token}` } })
  expect(await again.json()).toMatchObject({ email, name: 'Ana' })
  await stopStack(fourth.process)
})

test('a signal to npm start reaches the server', async () => {
  const process_ = spawn('npm', ['start'], {
    env: { ...process.env, PORT: '0', DATA_DIR: 'memory', SEED: 'none' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  await new Promise<void>((resolve) =>
    process_.stdout!.on('data', (chunk) => (out += chunk).includes('\nready ') && resolve())
  )
  const base = /^ready (\S+)$/m.exec(out)![1]!
  expect((await fetch(`${base}/health`)).status).toBe(200)
  const exited = once(process_, 'exit')
  process_.kill('SIGINT')
  expect((await exited)[0]).toBe(0)
  await expect(fetch(`${base}/health`)).rejects.toThrow()
})

test('a first start that was cut off is begun anew', async () => {
  const DATA_DIR = folder()
  const first = spawn('node_modules/.bin/deno', ['run', '-A', 'supabase/local/main.ts'], {
    env: { ...process.env, PORT: '0', DATA_DIR, SEED: 'none' },
    stdio: 'ignore',
  })
  // Cut while the files of the database are being made.
  while (!existsSync(join(DATA_DIR, 'postgres', 'base'))) await pause(20)
  await killed(first)
  expect(existsSync(join(DATA_DIR, 'postgres.making'))).toBe(true)
  const second = await startStack({ DATA_DIR })
  expect((await fetch(`${second.base}/health`)).status).toBe(200)
  await stopStack(second.process)
})

/** Begins to send a body; the service is waiting for the rest when this answers. */
const beginPost = async (url: string, body: string): Promise<{ rest: () => void; status: Promise<number> }> => {
  const headers = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    Expect: '100-continue',
  }
  const sending = request(url, { method: 'POST', headers })
  const status = new Promise<number>((resolve, reject) => {
    sending.on('response', (response) => resolve(response.resume().statusCode!)).on('error', reject)
  })
  sending.flushHeaders()
  // Said by the service when it wants the body, so the request has reached its handler.
  await Promise.race([once(sending, 'continue'), status])
  sending.write(body.slice(0, 20))
  return { rest: () => sending.end(body.slice(20)), status }
}

test('sign-ups under way when the stack is told to stop are finished, and nobody new is let in', async () => {
  const { base, process: process_ } = await startStack()
  const begun = await Promise.all([1, 2, 3].map((number) =>
    beginPost(
      `${base}/auth/signup`,
      JSON.stringify({ email: `p${number}@example.com`, password: 'correct horse', name: 'P' }),
    )
  ))
  const before = Date.now()
  const stopped = stopStack(process_)
  const newcomer = await vi.waitUntil(async () => {
    const response = await fetch(`${base}/health`)
    return response.status === 200 ? false : response
  }, { timeout: 10_000, interval: 10 })
  expect([newcomer.status, await newcomer.json()]).toEqual([503, { error: 'The service is stopping' }])
  for (const { rest } of begun) rest()
  expect(await Promise.all(begun.map(({ status }) => status))).toEqual([201, 201, 201])
  await stopped
  expect(process_.exitCode).toBe(0)
  expect(Date.now() - before).toBeLessThan(10_000)
})

test('who does not finish their request does not keep the stack from stopping', async () => {
  const { base, process: process_ } = await startStack()
  const { status } = await beginPost(`${base}/auth/signup`, JSON.stringify({ email: 'slow@example.com' }))
  const outcome = status.catch(() => 'cut off')
  const before = Date.now()
  await stopStack(process_)
  expect(await outcome).toBe('cut off')
  expect(process_.exitCode).toBe(0)
  expect(Date.now() - before).toBeLessThan(10_000)
})

test('keys that are none are refused in one line', async () => {
  const DATA_DIR = folder()
  writeFileSync(join(DATA_DIR, 'keys.json'), '{}')
  expect(await run({ DATA_DIR })).toEqual({
    code: 1,
    stderr: `${DATA_DIR}/keys.json does not hold the project's keys; restore it, or remove it for new ones\n`,
  })
})
