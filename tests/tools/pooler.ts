import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { freePort } from './ports.ts'

export interface Pooler {
  url: string
  stop: () => void
}

/** Starts PgBouncer in transaction mode, without prepared statements, in front of a database. */
export const startPooler = async (
  database: string,
  { connections, login, settings = '', prefix = process.env.PREFIX }: {
    connections: number
    /** The role that it logs in as, whoever a client says it is. */
    login?: string
    settings?: string
    /** Where tests/postgres/install.sh has put it. */
    prefix?: string
  },
): Promise<Pooler> => {
  const url = new URL(database)
  const name = url.pathname.slice(1)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'pooler-'))
  // PgBouncer does not run as root, and its user reads these files.
  chmodSync(folder, 0o755)
  writeFileSync(join(folder, 'users'), '"edge_functions" ""\n"postgres" ""\n')
  writeFileSync(
    join(folder, 'pooler.ini'),
    `[databases]
${name} = host=${url.hostname} port=${url.port}${login ? ` user=${login}` : ''}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = ${login ? 'any' : 'trust'}
auth_file = ${folder}/users
pool_mode = transaction
default_pool_size = ${connections}
server_round_robin = 1
max_prepared_statements = 0
ignore_startup_parameters = role, statement_timeout
${settings}
`,
  )
  const asUserNobody = process.getuid!() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] : []
  const [command, ...args] = [...asUserNobody, `${prefix}/usr/sbin/pgbouncer`, join(folder, 'pooler.ini')]
  const pooler = spawn(command!, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const stop = () => {
    pooler.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  url.port = String(port)
  let output = ''
  for await (const line of createInterface(pooler.stderr)) {
    output += `${line}\n`
    if (!line.includes('process up')) continue
    pooler.stderr.resume()
    return { url: url.href, stop }
  }
  stop()
  throw new Error(`The pooler ended: ${output}`)
}
