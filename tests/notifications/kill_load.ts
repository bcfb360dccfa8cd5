// Everything that the kill test starts and kills: Postgres, two workers, a mail server and a push service.
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { denoVersions } from '../tools/deno_versions.ts'
import { startPostgres as startServer } from '../tools/own_postgres.ts'
import { freePort } from '../tools/ports.ts'
import { runServer, type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { pause, until } from '../tools/wait.ts'

const secretKey = 'sb_secret_kills'

/** A Postgres with the migrations, and a function that kills it and starts it again. */
const startPostgres = async () => {
  const { folder, url, signal, again, remove } = await startServer()
  onTestFinished(remove)
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  const migrations = readdirSync('supabase/migrations').sort().map((file) => `supabase/migrations/${file}`)
  const files = ['tests/postgres/platform.sql', ...migrations].flatMap((file) => ['-f', file])
  const psql = join(process.env.PREFIX!, 'usr/lib/postgresql/17/bin/psql')
  // As the migrations set it in their transactions, of which psql knows nothing.
  const env = { ...process.env, PGOPTIONS: '-c check_function_bodies=off' }
  await promisify(execFile)(psql, ['-X', '-q', '-v', 'ON_ERROR_STOP=1', url, ...files], { env })
  const killAndStart = async () => {
    signal('SIGKILL')
    await again()
  }
  return { folder, pool, kill: killAndStart, edgeUrl: url.replace('supabase_admin', 'edge_functions') }
}

/** A receiver, which is started again at the same port when it was killed, and what it has written so far. */
const startReceiver = async (kind: 'mail' | 'push', folder: string) => {
  const [port, file] = [await freePort(), join(folder, `${kind}.log`)]
  const args = ['run', '-A', 'tests/notifications/serve_receiver.ts', kind, String(port), file]
  let server: ServedFunction | null
  /** Whether it listens. While it is down, a connection of any process may have been given its port. */
  const start = async (): Promise<boolean> => (server = await runServer(args, {}).catch(() => null)) !== null
  const kill = async () => {
    if (server!.ended() !== null) throw new Error(`The ${kind} server ended by itself`)
    server!.stop()
    await until(() => server!.ended() !== null)
  }
  await until(start)
  onTestFinished(kill)
  return {
    port,
    kill: async () => {
      await kill()
      await pause(Math.random() * 500)
      await until(start)
    },
    // The last line may be cut off by a kill, and then nothing was acknowledged.
    lines: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8').split('\n').flatMap((line) => line.endsWith('}') ? [JSON.parse(line)] : [])
        : [],
  }
}

/** Two workers on the platform's Deno, called all the time as by a schedule; `kill` kills one of them. */
const startWorkers = async (env: Record<string, string>) => {
  const options = { deno: denoVersions()[1]!.deno, options: ['--no-config', '--no-lock', '--no-npm'] }
  const start = () => serveFunction('dist/functions/notify/index.js', env, options)
  const workers = await Promise.all([start(), start()])
  let isOver = false
  const calls = workers.map(async (_, index) => {
    while (!isOver) {
      await fetch(`${workers[index]!.base}/notify`, { method: 'POST', headers: { apikey: secretKey } })
        .then((answer) => answer.arrayBuffer()).catch(() => {})
      await pause(50 + Math.random() * 100)
    }
  })
  onTestFinished(async () => {
    isOver = true
    workers.forEach(({ stop }) => stop())
    await Promise.all(calls)
  })
  return {
    kill: async () => {
      const index = Math.floor(Math.random() * workers.length)
      workers[index]!.stop()
      workers[index] = await start()
    },
  }
}

/** Starts all of it. The delay is in seconds; `speedup` divides the time until another attempt. */
export const startAll = async ({ delay, speedup }: { delay: number; speedup: number }) => {
  const database = await startPostgres()
  const [mail, push] = await Promise.all([
    startReceiver('mail', database.folder),
    startReceiver('push', database.folder),
  ])
  await database.pool.query(`
    create or replace function private.back_off(failures integer) returns interval language sql volatile as
      $$ select interval '15 seconds' / ${speedup} * 3 ^ least(failures, 6) * (1 + random() / 2) $$
  `)
  const keys = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign'])
  const publicKey = Buffer.from(await crypto.subtle.exportKey('raw', keys.publicKey)).toString('base64url')
  const worker = await startWorkers({
    EDGE_DATABASE_URL: database.edgeUrl,
    DATABASE_POOL: '2',
    SUPABASE_URL: 'http://127.0.0.1:9',
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: secretKey }),
    NOTIFY_DELAY_SECONDS: String(delay),
    LOOPBACK_TARGETS: 'all',
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    MAIL_FROM: 'no-reply@voyagers.example',
    VAPID_PUBLIC_KEY: publicKey,
    VAPID_PRIVATE_KEY: (await crypto.subtle.exportKey('jwk', keys.privateKey)).d!,
    VAPID_SUBJECT: 'mailto:no-reply@voyagers.example',
  })
  return { pool: database.pool, mail, push, kills: { database, worker, mail, push } }
}
