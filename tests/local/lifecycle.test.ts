import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { allSettings } from '../../functions/_shared/setting_rules.ts'
import { call } from '../tools/people.ts'
import { dashboardCookie, startStack, stopStack, testKeys } from '../tools/stack.ts'
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
  const stack = spawn(`${process.cwd()}/node_modules/.bin/deno`, ['run', '-A', 'supabase/local/main.ts'], {
    cwd,
    env: { ...process.env, PORT: '0', DATA_DIR: 'memory', SEED: 'none', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  stack.stderr!.on('data', (chunk) => stderr += chunk)
  const [code] = await once(stack, 'exit')
  return { code, stderr }
}

const kill = async (stack: ChildProcess): Promise<void> => {
  const exited = once(stack, 'exit')
  stack.kill('SIGKILL')
  await exited
}

const modeOf = (...path: string[]) => statSync(join(...path)).mode & 0o777

test.each([
  ['a setting is invalid', { JWT_SECRET: 'short' }, /^JWT_SECRET has 5 characters; give it 32 or more\n$/],
  [
    'the database is unreachable',
    { DATABASE_URL: 'postgresql://x@127.0.0.1:1/x' },
    /^The database of DATABASE_URL cannot be reached: .+\n$/,
  ],
  ['DATA_DIR is not a folder', { DATA_DIR: '/dev/null/data' }, /^DATA_DIR \/dev\/null\/data cannot be used: .+\n$/],
])('the stack does not start if %s, and says so in one line', async (_, env, line) => {
  const { code, stderr } = await run(env)
  expect(stderr).toMatch(line)
  expect(code).toBe(1)
})

test('the stack does not start if the port is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const { code, stderr } = await run({ PORT: String(port) })
  other.close()
  expect(stderr).toBe(`Port ${port} is in use; stop what listens there, or set PORT to another\n`)
  expect(code).toBe(1)
})

test('the stack does not start with invalid keys', async () => {
  const DATA_DIR = folder()
  writeFileSync(join(DATA_DIR, 'keys.json'), '{}')
  expect(await run({ DATA_DIR })).toEqual({
    code: 1,
    stderr: `${DATA_DIR}/keys.json does not hold the project's keys; restore it, or remove it for new ones\n`,
  })
})

test('a data folder whose database cannot be opened says how to begin anew', async () => {
  const DATA_DIR = folder()
  mkdirSync(join(DATA_DIR, 'postgres'))
  writeFileSync(join(DATA_DIR, 'postgres', 'PG_VERSION'), '17\n')
  expect(await run({ DATA_DIR })).toEqual({
    code: 1,
    stderr: expect.stringMatching(/ holds no database that can be opened: .+; restore it .+, or move .+ start anew\n$/),
  })
})

test('npm start reads .env, and the environment wins', () => {
  const checkout = folder()
  for (const name of ['package.json', 'functions', 'supabase', 'sql', 'clients', 'node_modules']) {
    symlinkSync(join(process.cwd(), name), join(checkout, name))
  }
  const { start } = JSON.parse(readFileSync('package.json', 'utf8')).scripts
  const run = (PORT?: string) =>
    spawnSync('sh', ['-c', `PATH="$PWD/node_modules/.bin:$PATH"; ${start}`], {
      cwd: checkout,
      env: { ...process.env, PORT, JWT_SECRET: '', DATABASE_URL: '' },
      encoding: 'utf8',
    }).stderr
  writeFileSync(join(checkout, '.env'), 'PORT="http"\n')
  expect(run()).toBe('PORT is "http", and must be a number from 0 to 65535\n')
  expect(run('ftp')).toBe('PORT is "ftp", and must be a number from 0 to 65535\n')
  rmSync(join(checkout, '.env'))
  expect(run('no')).toBe('PORT is "no", and must be a number from 0 to 65535\n')
})

test('npm start -- --help lists every setting that it reads, and an unknown argument is refused', () => {
  const start = (...args: string[]) =>
    spawnSync('node_modules/.bin/deno', ['run', '-A', 'supabase/local/main.ts', ...args], { encoding: 'utf8' })
  const { status, stdout } = start('--help')
  expect(status).toBe(0)
  for (const [name, { on }] of Object.entries(allSettings)) {
    expect([name, new RegExp(`^  ${name}$`, 'm').test(stdout)]).toEqual([name, on !== 'supabase'])
  }
  expect(stdout).toContain('  PORT\n      where everything listens (default: 54321)\n')
  expect(start('--port=80')).toMatchObject({
    status: 1,
    stderr: '--port=80 is unknown; npm start -- --help lists the settings\n',
  })
})

// The tests of one data folder, from its first start to its backup, in order: each start costs seconds.
describe('a data folder', () => {
  const DATA_DIR = folder()
  // Without configured keys, which would hide whether those of the first start are kept.
  const env = { DATA_DIR, JWT_SECRET: '', SUPABASE_PUBLISHABLE_KEY: '', SUPABASE_SECRET_KEY: '' }
  const account = { email: 'ana@example.com', password: 'correct horse' }
  let stack: Awaited<ReturnType<typeof startStack>>
  let token = ''
  let session = ''
  const signIn = async ({ base }: typeof stack) => (await call('POST', `${base}/auth/login`, account)).status
  const readProfile = async ({ base }: typeof stack) =>
    (await call('GET', `${base}/users/me`, undefined, { token })).body
  const profile = { email: account.email, name: 'Ana' }

  test('is closed to other users of the machine, also if it existed and was open', async () => {
    chmodSync(DATA_DIR, 0o777)
    stack = await startStack(env)
    const { status, body } = await call('POST', `${stack.base}/auth/signup`, { ...account, name: 'Ana' })
    expect(status).toBe(201)
    token = body.access_token
    session = (await dashboardCookie(stack.dashboard)).split('=')[1]!
    expect(modeOf(DATA_DIR, 'postgres')).toBe(0o700)
    expect(modeOf(DATA_DIR, 'keys.json')).toBe(0o600)
  })

  test('is used by one server at a time', async () => {
    expect(await run({ DATA_DIR })).toEqual({
      code: 1,
      stderr: `DATA_DIR ${DATA_DIR} is in use by another server; stop that one or choose another folder\n`,
    })
  })

  const copySources = (): string => {
    const checkout = join(folder(), 'checkout')
    cpSync('.', checkout, {
      recursive: true,
      filter: (path) => !/^(node_modules|\.git|\.cache|\.data)(\/|$)/.test(path),
    })
    symlinkSync(`${process.cwd()}/node_modules`, join(checkout, 'node_modules'))
    return checkout
  }

  test('takes the migrations that follow, also one that builds an index concurrently', async () => {
    const checkout = copySources()
    const script = 'create index concurrently later_idx on public.messages (created_at)'
    writeFileSync(join(checkout, 'supabase/migrations/99990101000000_later.sql'), script)
    const later = await startStack({}, checkout)
    onTestFinished(() => stopStack(later.process))
    const metrics = await fetch(`${later.base}/health/metrics`, { headers: { apikey: testKeys.secretKey } })
    expect(await metrics.text()).toContain('database_migration{version="99990101000000"} 1')
  })

  test('of another baseline is refused, and stays as it is', async () => {
    await kill(stack.process)
    const checkout = copySources()
    const [baseline] = readdirSync('supabase/migrations').sort()
    appendFileSync(join(checkout, 'supabase/migrations', baseline!), '\nselect 1;\n')
    expect(await run({ DATA_DIR }, checkout)).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^The database was made by an earlier version of the schema \(migration \d+\); move DATA_DIR away .+\n$/,
      ),
    })
    // The next test opens it with the sources that made it.
  })

  test('keeps acknowledged writes and the keys after a kill, but not the link of the dashboard', async () => {
    chmodSync(join(DATA_DIR, 'postgres'), 0o755)
    const link = new URL(stack.dashboard)
    stack = await startStack(env)
    const { origin, port } = new URL(stack.base)
    const stale = await fetch(`${origin}/${link.search}`, { redirect: 'manual' })
    expect([stale.status, stale.headers.get('Set-Cookie')]).toEqual([401, null])
    const headers = { Cookie: `dashboard_${port}=${session}` }
    expect((await fetch(`${origin}/_system/info`, { headers })).status).toBe(404)
    expect((await call('GET', `${stack.base}/health`)).status).toBe(200)
    expect(await readProfile(stack)).toMatchObject(profile)
    expect(await signIn(stack)).toBe(200)
  })

  test('is closed within ten seconds, and again to other users of the machine', async () => {
    const before = Date.now()
    await stopStack(stack.process)
    expect(Date.now() - before).toBeLessThan(10_000)
    expect(stack.process.exitCode).toBe(0)
    expect(modeOf(DATA_DIR, 'postgres')).toBe(0o700)
  })

  test('opens again after a stop, and so does a copy of it, which is a backup', async () => {
    const copy = folder()
    cpSync(DATA_DIR, copy, { recursive: true })
    const [original, backup] = await Promise.all([startStack(env), startStack({ ...env, DATA_DIR: copy })])
    expect(await signIn(original)).toBe(200)
    expect(await readProfile(backup)).toMatchObject(profile)
    await Promise.all([stopStack(original.process), stopStack(backup.process)])
  })

  test('needs no memory for large buffers, and is reset with its keys, once nobody uses it', async () => {
    const reset = (settings: Record<string, string> = {}) =>
      spawnSync('node_modules/.bin/deno', ['run', '-A', 'supabase/local/reset.ts'], {
        env: { ...process.env, DATABASE_URL: '', DATA_DIR, SEED: 'demo', ...settings },
        encoding: 'utf8',
      })
    const again = await startStack(env)
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${again.process.pid}/status`, 'utf8'))!
    // At rest it has 260 to 310 MB, as garbage happens to be collected; with Postgres's own buffers 380 MB and more.
    expect(Number(kilobytes)).toBeLessThan(350_000)
    const inUse = `DATA_DIR ${DATA_DIR} is in use by another server; stop that one or choose another folder\n`
    expect(reset()).toMatchObject({ status: 1, stderr: inUse })
    expect(await signIn(again)).toBe(200)
    await stopStack(again.process)
    expect(reset({ SEED: 'none' })).toMatchObject({ status: 1, stderr: expect.stringMatching(/^SEED is none, .+\n$/) })
    const keys = readFileSync(join(DATA_DIR, 'keys.json'), 'utf8')
    expect(reset()).toMatchObject({ status: 0, stderr: '' })
    expect(existsSync(join(DATA_DIR, 'before-reset', 'postgres', 'PG_VERSION'))).toBe(true)
    const anew = await startStack(env)
    expect(await signIn(anew)).toBe(401)
    expect(readFileSync(join(DATA_DIR, 'keys.json'), 'utf8')).toBe(keys)
    await stopStack(anew.process)
  })
})

test('npm start forwards a signal to the server', async () => {
  const npm = spawn('npm', ['start'], {
    env: { ...process.env, PORT: '0', DATA_DIR: 'memory', SEED: 'none' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  await new Promise<void>((resolve) =>
    npm.stdout!.on('data', (chunk) => (out += chunk).includes('\nready ') && resolve())
  )
  const base = /^ready (\S+)$/m.exec(out)![1]!
  expect((await fetch(`${base}/health`)).status).toBe(200)
  const exited = once(npm, 'exit')
  npm.kill('SIGINT')
  expect((await exited)[0]).toBe(0)
  await expect(fetch(`${base}/health`)).rejects.toThrow()
})

test('a first start that was interrupted is repeated', async () => {
  const DATA_DIR = folder()
  const first = spawn('node_modules/.bin/deno', ['run', '-A', 'supabase/local/main.ts'], {
    env: { ...process.env, PORT: '0', DATA_DIR, SEED: 'none' },
    stdio: 'ignore',
  })
  // Kill it during initdb.
  while (!existsSync(join(DATA_DIR, 'postgres', 'base'))) await pause(20)
  await kill(first)
  expect(existsSync(join(DATA_DIR, 'postgres.making'))).toBe(true)
  const second = await startStack({ DATA_DIR })
  expect((await fetch(`${second.base}/health`)).status).toBe(200)
  await stopStack(second.process)
})

/** Sends the start of a body, and resolves when the server waits for the rest. */
const startPost = async (url: string, body: string): Promise<{ finish: () => void; status: Promise<number> }> => {
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
  // The server answers 100 Continue when it reads the body, so the request has reached its handler.
  await Promise.race([once(sending, 'continue'), status])
  sending.write(body.slice(0, 20))
  return { finish: () => sending.end(body.slice(20)), status }
}

test('a stop finishes the requests in flight, does not wait for one that hangs, and rejects new ones', async () => {
  const { base, process: stack } = await startStack()
  const signUp = (email: string) =>
    startPost(`${base}/auth/signup`, JSON.stringify({ email, password: 'correct horse', name: 'P' }))
  const inFlight = await Promise.all([1, 2, 3].map((number) => signUp(`p${number}@example.com`)))
  const hanging = (await signUp('slow@example.com')).status.catch(() => 'aborted')
  const before = Date.now()
  const stopped = stopStack(stack)
  const rejected = await vi.waitUntil(async () => {
    const response = await fetch(`${base}/health`)
    return response.status === 200 ? false : response
  }, { timeout: 10_000, interval: 10 })
  expect([rejected.status, await rejected.json()]).toEqual([503, { error: 'The service is stopping' }])
  for (const { finish } of inFlight) finish()
  expect(await Promise.all(inFlight.map(({ status }) => status))).toEqual([201, 201, 201])
  expect(await hanging).toBe('aborted')
  await stopped
  expect(stack.exitCode).toBe(0)
  expect(Date.now() - before).toBeLessThan(10_000)
})
