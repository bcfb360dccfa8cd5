import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './ports.ts'

/**
 * A Postgres server, and the ways to end and to start it. `prepare` puts files into its folder and returns lines of its
 * configuration; without it, it is durable: with fsync and synchronous_commit on.
 */
export const startPostgres = async (prepare?: (folder: string) => string) => {
  const folder = mkdtempSync(join(tmpdir(), 'postgres-'))
  // Started as root, it runs as user nobody.
  chmodSync(folder, 0o755)
  const data = join(folder, 'data')
  const port = await freePort()
  const env = { ...process.env, POSTGRES_CONF: prepare?.(folder) ?? '' }
  const script = async (...args: string[]): Promise<void> => {
    await promisify(execFile)('bash', ['tests/postgres/server.sh', ...args], { env })
  }
  await script('start', data, String(port), prepare ? '' : 'durable')
  const signal = (name: NodeJS.Signals) =>
    process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), name)
  return {
    folder,
    port,
    url: `postgresql://supabase_admin@127.0.0.1:${port}/postgres`,
    signal,
    stopImmediately: () => script('stop', data),
    again: () => script('again', data),
    remove: async () => {
      await script('stop', data)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
