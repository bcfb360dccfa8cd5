// A Postgres of its own that keeps what is committed (fsync and synchronous_commit on), which is killed as a whole, or one backend of it as
// it commits. What a kill proves is that nothing acknowledged stands in a process alone; power cuts are for who makes disks.
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../tools/ports.ts'
import { pause } from '../tools/wait.ts'
import { type Crash, killServer, sends, storm, timeout } from './storm.ts'

const run = promisify(execFile)

const startPostgres = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const port = await freePort()
  const script = (...args: string[]) => run('bash', ['tests/postgres/server.sh', ...args])
  await script('start', data, String(port), 'durable')
  onTestFinished(async () => {
    await script('stop', data)
    rmSync(folder, { recursive: true, force: true })
  })
  const url = `postgresql://supabase_admin@127.0.0.1:${port}/postgres`
  const ask = async (...statements: string[]): Promise<postgres.Row[]> => {
    const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} })
    try {
      let rows: postgres.Row[] = []
      for (const statement of statements) rows = await sql.unsafe(statement)
      return rows
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
  /** As `ask`, for as long as the server is not there. */
  const insist = async (...statements: string[]): Promise<postgres.Row[]> => {
    while (true) {
      try {
        return await ask(...statements)
      } catch {
        await pause(50)
      }
    }
  }

  const killPostmaster: Crash = async (_, now) => {
    process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
    now()
    await script('again', data)
  }
  const stopAtOnce: Crash = async (_, now) => {
    await script('stop', data)
    now()
    await script('again', data)
  }
  /** Kills a backend that is sending a message and, by these settings, lingers where `caught` finds it; all others then lose theirs. */
  const killBackend = (settings: string[], names: string[], caught: string): Crash => async (_, now) => {
    await insist(...settings.map((setting) => `alter system set ${setting}`), 'select pg_reload_conf()')
    let backend: postgres.Row | undefined
    while (!backend) {
      ;[backend] = await insist(`
        select pid
        from pg_stat_activity
        where application_name = 'edge_functions' and state = 'active' and query like '%send_message%' and ${caught}
        limit 1
      `)
    }
    process.kill(backend.pid, 'SIGKILL')
    now()
    await pause(100)
    await insist(...names.map((name) => `alter system reset ${name}`), 'select pg_reload_conf()')
  }
  return {
    url,
    crashes: [
      ['kill -9 of the stack', killServer],
      ['kill -9 of the postmaster', killPostmaster],
      // Asleep before the commit reaches the disk: what it has done is gone.
      [
        'kill -9 of a backend before its commit is on disk',
        killBackend(
          ['commit_delay = 100000', 'commit_siblings = 0'],
          ['commit_delay', 'commit_siblings'],
          `now() - query_start > interval '30 ms' and wait_event_type is distinct from 'Lock'`,
        ),
      ],
      // The commit is on disk, and its sender waits for word that never comes.
      [
        'kill -9 of a backend after its commit is on disk',
        killBackend([`synchronous_standby_names = 'nobody'`], ['synchronous_standby_names'], `wait_event = 'SyncRep'`),
      ],
      ['pg_ctl stop -m immediate', stopAtOnce],
    ] as [string, Crash][],
  }
}

test('no message is lost or doubled by kills of the stack, of Postgres, or of one backend as it commits', async () => {
  const { url, crashes } = await startPostgres()
  const rounds = Math.ceil(Number(process.env.CRASHES || crashes.length) / crashes.length)
  const inTurn = Array.from({ length: rounds }, () => crashes).flat()
  const { problems, figures } = await storm({ DATABASE_URL: url }, sends, inTurn)
  expect(problems).toEqual([])
  expect(figures.acknowledged).toBeGreaterThanOrEqual(sends)
  expect(figures.replays).toBeGreaterThan(0)
  expect(figures.cuts.afterRequest + figures.cuts.beforeResponse).toBeGreaterThan(0)
  expect(figures.worstRecoveryMs).toBeLessThan(60_000)
}, timeout)
