import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { freePort } from './ports.ts'

/** A Postgres server for this test, with fsync and synchronous_commit on, and the ways to end and to start it. */
export const startDurablePostgres = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // Started as root, it runs as user nobody.
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const port = await freePort()
  const script = async (...args: string[]): Promise<void> => {
    await promisify(execFile)('bash', ['tests/postgres/server.sh', ...args])
  }
  await script('start', data, String(port), 'durable')
  onTestFinished(async () => {
    await script('stop', data)
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    folder,
    url: `postgresql://supabase_admin@127.0.0.1:${port}/postgres`,
    kill: () => process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL'),
    stopImmediately: () => script('stop', data),
    again: () => script('again', data),
  }
}
