import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { TestProject } from 'vitest/node'
import { connected } from '../../tools/postgres.ts'
import { freePort, listen } from '../../tools/ports.ts'
import { startStack, stopStack, testKeys } from '../../tools/stack.ts'
import { platform } from '../../tools/supabase.ts'
import { until } from '../../tools/wait.ts'
import { openGateway } from './gateway.ts'
import { openServer } from './server.ts'

const name = 'realtime_project'

// Instead of the stub of the schema, which the server's own migrations make.
const makeRoom = `
  drop schema realtime cascade;
  create schema realtime authorization supabase_admin;
  create schema _realtime authorization supabase_admin;
  grant usage on schema realtime to postgres, anon, authenticated, service_role;
`

const endWalsender = `
  select pg_terminate_backend(pid) from pg_stat_replication where application_name = 'realtime_replication_connection'`

// The local stack migrates as a superuser. On the platform everything belongs to plain postgres.
const giveToPostgres = `
  grant usage on schema auth, realtime to postgres;
  grant all on all tables in schema auth to postgres;
  grant anon, authenticated, service_role, edge_functions to postgres;
  do $$
  declare
    command text;
  begin
    for command in
      select format('alter schema %I owner to postgres', nspname)
      from pg_namespace where nspname in ('public', 'private', 'api')
      union all
      select format('alter table %s owner to postgres', pg_class.oid::regclass)
      from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where nspname in ('public', 'private', 'api') and relkind in ('r', 'p', 'v', 'm')
      union all
      select format('alter routine %s owner to postgres', pg_proc.oid::regprocedure)
      from pg_proc join pg_namespace on pg_namespace.oid = pronamespace
      where nspname in ('public', 'private', 'api') and prokind = 'f'
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
    loop
      execute command;
    end loop;
  end
  $$;
`

/** A database with the server's migrations and ours, the local stack on it, and one origin for both. */
export default async (project: TestProject) => {
  const admin = platform(name, 'supabase_admin')
  const run = (statement: string, at = admin) => connected(at, async (sql) => await sql.unsafe(statement))
  await run(`create database ${name}`, platform('postgres', 'supabase_admin'))
  const psql = `${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`
  execFileSync(psql, ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', 'tests/postgres/platform.sql', admin])
  // The local stack brings an Auth of its own.
  await run('drop schema auth cascade')
  const server = openServer(admin, await freePort())
  await run(makeRoom)
  await server.start()
  await until(async () => (await run(`select to_regclass('realtime.messages') as found`))[0]!.found !== null)
  await run('update _realtime.tenants set private_only = true')
  await server.stop()
  let base = ''
  const gateway = await openGateway(() => new URL(base).origin, server.origin)
  const stack = await startStack({ DATABASE_URL: admin })
  base = stack.base
  await run(giveToPostgres)
  await server.start()
  const control = createServer(async (request, response) => {
    const what = request.url!.slice(1)
    if (what === 'TERM' || what === 'KILL') {
      await server.stop(`SIG${what}`)
      await server.start()
    } else await run(endWalsender)
    response.end()
  })
  const { origin } = gateway
  project.provide('stack', { base: `${origin}/functions/v1`, origin, dashboard: stack.dashboard, ...testKeys })
  project.provide('realtimeControl', `http://127.0.0.1:${await listen(control)}`)
  return async () => {
    control.close()
    await stopStack(stack.process)
    await server.stop()
    gateway.close()
  }
}
