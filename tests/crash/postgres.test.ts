// A Postgres server of its own with fsync and synchronous_commit on, killed as a whole or one backend as it commits. A
// kill proves that no acknowledged write exists only in a process's memory. Power loss is not tested.
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { startPostgres } from '../tools/own_postgres.ts'
import { searchAudit } from '../tools/search_audit.ts'
import { pause } from '../tools/wait.ts'
import { type Crash, expectNoLoss, killServer, runCrashLoad, timeout } from './crash_load.ts'

test('kills of the stack, of Postgres, and of a committing backend neither lose nor duplicate a message', async () => {
  const { url, signal, stopImmediately, again, remove } = await startPostgres()
  onTestFinished(remove)
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  /** Runs a statement, again until the server is up. */
  const query = async (statement: string): Promise<pg.QueryResultRow[]> => {
    while (true) {
      const result = await pool.query(statement).catch(() => pause(50))
      if (result) return result.rows
    }
  }
  const end = (how: () => unknown): Crash => async (_, onCrash) => {
    await how()
    onCrash()
    await again()
  }
  /** Kills a backend that sends a message. The settings delay its commit where the condition finds it. */
  const killBackend = (settings: Record<string, string>, condition: string): Crash => async (_, onCrash) => {
    const alter = async (change: (name: string) => string) => {
      for (const name of Object.keys(settings)) await query(`alter system ${change(name)}`)
      await query('select pg_reload_conf()')
    }
    await alter((name) => `set ${name} = ${settings[name]}`)
    let backend: pg.QueryResultRow | undefined
    while (!backend) {
      ;[backend] = await query(`
        select pid from pg_stat_activity
        where application_name = 'edge_functions' and state = 'active' and query like '%send_message%' and ${condition}
        limit 1`)
    }
    process.kill(backend.pid, 'SIGKILL')
    onCrash()
    await pause(100)
    await alter((name) => `reset ${name}`)
  }
  const crashes: [string, Crash][] = [
    ['kill -9 of the stack', killServer],
    ['kill -9 of the postmaster', end(() => signal('SIGKILL'))],
    // It sleeps before the commit reaches the disk, so the message is lost.
    [
      'kill -9 of a backend before its commit is on disk',
      killBackend(
        { commit_delay: '100000', commit_siblings: '0' },
        `now() - query_start > interval '30 ms' and wait_event_type is distinct from 'Lock'`,
      ),
    ],
    // The commit is on disk, but the sender never learns of it.
    [
      'kill -9 of a backend after its commit is on disk',
      killBackend({ synchronous_standby_names: `'nobody'` }, `wait_event = 'SyncRep'`),
    ],
    ['pg_ctl stop -m immediate', end(stopImmediately)],
  ]
  const rounds = Math.ceil(Number(process.env.CRASHES || crashes.length) / crashes.length)
  const results = await runCrashLoad({ DATABASE_URL: url }, Array.from({ length: rounds }, () => crashes).flat())
  expectNoLoss(results)
  const [audit] = await query(searchAudit)
  expect(new Set(Object.values(audit!.findings))).toEqual(new Set([0]))
  expect(results.figures.replays).toBeGreaterThan(0)
}, timeout)
