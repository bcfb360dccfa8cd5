import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { testKeys } from '../../tools/stack.ts'
import { until } from '../../tools/wait.ts'

/** Its settings, as config/runtime.exs reads them; those that are not here have their defaults. */
const environment = ({ hostname, port: databasePort, pathname, username }: URL, port: number) => ({
  ...{ PATH: process.env.PATH!, HOME: '/tmp', PORT: `${port}`, APP_NAME: 'realtime', DNS_NODES: "''" },
  ...{ DB_HOST: hostname, DB_PORT: databasePort, DB_NAME: pathname.slice(1), DB_USER: username },
  ...{ DB_PASSWORD: 'postgres', DB_SSL: 'false', DB_AFTER_CONNECT_QUERY: 'SET search_path TO _realtime' },
  ...{ DB_ENC_KEY: 'supabaserealtime', API_JWT_SECRET: testKeys.jwtSecret, METRICS_JWT_SECRET: testKeys.jwtSecret },
  SECRET_KEY_BASE: 'a-key-base-for-tests-of-at-least-sixty-four-characters-0123456789abcdef',
  ...{ SELF_HOST_TENANT_NAME: 'realtime-dev', SEED_SELF_HOST: 'true', RUN_JANITOR: 'true', RLIMIT_NOFILE: '10000' },
  // Names of slots are those of the whole cluster.
  ...{ SLOT_NAME_SUFFIX: `test_${port}`, ERL_AFLAGS: '-proto_dist inet_tcp' },
})

/** The server on this database and port. It can be stopped and started again. */
export const openServer = (database: string, port: number) => {
  const origin = `http://127.0.0.1:${port}`
  const env = environment(new URL(database), port)
  let child: ChildProcess | null = null
  let log = ''
  return {
    origin,
    start: async (): Promise<void> => {
      child = spawn(process.env.SUPABASE_REALTIME!, [], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
        // A release is a script that starts another program.
        detached: true,
      })
      for (const output of [child.stdout!, child.stderr!]) output.on('data', (text) => log += text)
      const isUp = () => child!.exitCode !== null || fetch(`${origin}/healthcheck`).then(({ ok }) => ok, () => false)
      await until(isUp).catch(() => {})
      if (child.exitCode !== null || !await isUp()) throw new Error(`Realtime did not start: ${log.slice(-3000)}`)
    },
    stop: async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      process.kill(-child.pid!, signal)
      await exited
    },
  }
}
