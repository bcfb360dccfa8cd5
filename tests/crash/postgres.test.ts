// A Postgres server of its own with fsync and synchronous_commit on, killed as a whole or one backend as it commits. A
// kill proves that no acknowledged write exists only in a process's memory. Power loss is not tested.
import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../tools/ports.ts'
import { pause } from '../tools/wait.ts'
import { type Crash, killServer, runCrashLoad, sends, timeout } from './crash_load.ts'

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
  const query = async (...statements: string[]): Promise<postgres.Row[]> => {
    const sql = postgres(url, { max: 1, connect_timeout: 5, onnotice: () => {} })
    try {
      let rows: postgres.Row[] = []
      for (const statement of statements) rows = await sql.unsafe(statement)
      return rows
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
  /** As `query`, but retries until the server is up. */
  const queryWithRetries = async (...statements: string[]): Promise<postgres.Row[]> => {
    while (true) {
      try {
        return await query(...statements)
      } catch {
        await pause(50)
      }
    }
  }

  const killPostmaster: Crash = async (_, onCrash) => {
    process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
    onCrash()
    await script('again', data)
  }
  const stopImmediately: Crash = async (_, onCrash) => {
    await script('stop', data)
    onCrash()
    await script('again', data)
  }
  /** Kills a backend that sends a message. The settings delay its commit where the condition finds it. */
  const killBackend = (settings: string[], names: string[], condition: string): Crash => async (_, onCrash) => {
    await queryWithRetries(...settings.map((setting) => `alter system set ${setting}`), 'select pg_reload_conf()')
    let backend: postgres.Row | undefined
    while (!backend) {
      ;[backend] = await queryWithRetries(`
        select pid
        from pg_stat_activity
        where application_name = 'edge_functions' and state = 'active' and query like '%send_message%' and ${condition}
        limit 1
      `)
    }
    process.kill(backend.pid, 'SIGKILL')
    onCrash()
    await pause(100)
    await queryWithRetries(...names.map((name) => `alter system reset ${name}`), 'select pg_reload_conf()')
  }
  return {
    url,
    crashes: [
      ['kill -9 of the stack', killServer],
      ['kill -9 of the postmaster', killPostmaster],
      // It sleeps before the commit reaches the disk, so the message is lost.
      [
        'kill -9 of a backend before its commit is on disk',
        killBackend(
          ['commit_delay = 100000', 'commit_siblings = 0'],
          ['commit_delay', 'commit_siblings'],
          `now() - query_start > interval '30 ms' and wait_event_type is distinct from 'Lock'`,
        ),
      ],
      // The commit is on disk, but the sender never learns of it.
      [
        'kill -9 of a backend after its commit is on disk',
        killBackend([`synchronous_standby_names = 'nobody'`], ['synchronous_standby_names'], `wait_event = 'SyncRep'`),
      ],
      ['pg_ctl stop -m immediate', stopImmediately],
    ] as [string, Crash][],
  }
}

test('kills of the stack, of Postgres, and of a committing backend neither lose nor duplicate a message', async () => {
  const { url, crashes } = await startPostgres()
  const rounds = Math.ceil(Number(process.env.CRASHES || crashes.length) / crashes.length)
  const sequence = Array.from({ length: rounds }, () => crashes).flat()
  const { violations, figures } = await runCrashLoad({ DATABASE_URL: url }, sends, sequence)
  expect(violations).toEqual([])
  expect(figures.acknowledged).toBeGreaterThanOrEqual(sends)
  expect(figures.replays).toBeGreaterThan(0)
  expect(figures.droppedConnections.afterRequest + figures.droppedConnections.beforeResponse).toBeGreaterThan(0)
  expect(figures.worstRecoveryMs).toBeLessThan(60_000)
}, timeout)
