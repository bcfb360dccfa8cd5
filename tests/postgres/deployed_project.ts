// A project that docs/deploy.md can be walked on: a Postgres server with the platform's roles, the local stack's Auth,
// Data API and Realtime on it, a pooler with TLS, the Management API, and the functions as they were uploaded, each
// alone in its folder under the platform's Deno. One origin is in front.
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import postgres from 'postgres'
import { makeCertificates } from '../tools/certificates.ts'
import { denoVersions } from '../tools/deno_versions.ts'
import { openManagementApi, unpack, type Upload } from '../tools/management_api.ts'
import { startPostgres } from '../tools/own_postgres.ts'
import { vault } from '../tools/pg_net.ts'
import { startPooler } from '../tools/pooler.ts'
import { openProxy } from '../tools/proxy.ts'
import { runScript } from '../tools/run_script.ts'
import { type ServedFunction, serveFunction } from '../tools/serve_function.ts'
import { startStack, stopStack, testKeys } from '../tools/stack.ts'

/**
 * Serves an uploaded bundle alone, outside of the repository and its packages, under the platform's Deno. `prepare` may
 * add files to its folder, and returns what is run instead, and options of Deno.
 */
export const serveUpload = (
  upload: Upload,
  folder: string,
  env: Record<string, string>,
  prepare = (_folder: string): string[] => [upload.metadata.entrypoint_path],
): Promise<ServedFunction> => {
  const cwd = mkdtempSync(join(folder, 'alone-'))
  unpack(upload, cwd)
  const [entrypoint, ...options] = prepare(cwd)
  const { deno } = denoVersions()[1]!
  return serveFunction(entrypoint!, env, { deno, cwd, options: ['--no-config', '--no-lock', '--no-npm', ...options] })
}

// Auth's tables of the stub are for the tests of migrations, and nobody can log in with them.
const makeRoomForAuth = `
  drop table auth.users, auth.identities, auth.sessions, auth.flow_state, auth.audit_log_entries;
  alter default privileges for role supabase_admin in schema auth grant all on tables to postgres;
`

export const openDeployedProject = async () => {
  // With fsync: what is committed is on the disk, as on the platform.
  const { folder, port, remove } = await startPostgres()
  const closes: (() => unknown)[] = [remove]
  const databaseUrl = (role: string) => `postgresql://${role}@127.0.0.1:${port}/postgres`
  const psql = (...args: string[]) =>
    execFileSync(`${process.env.PREFIX}/usr/lib/postgresql/17/bin/psql`, [
      ...['-XqAt', '-v', 'ON_ERROR_STOP=1', databaseUrl('supabase_admin'), ...args],
    ])
  psql('-f', 'tests/postgres/platform.sql', '-c', makeRoomForAuth, '-c', vault)
  await runScript('tests/postgres/make_auth.ts', [databaseUrl('supabase_admin')])
  // The CLI makes its own, as role postgres.
  psql('-c', 'drop schema supabase_migrations cascade')
  const sql = postgres(databaseUrl('supabase_admin'), { max: 2, onnotice: () => {} })
  closes.push(() => sql.end())

  // PgBouncer takes TLS, and logs in as edge_functions for whoever names the project behind the role's name.
  makeCertificates(folder)
  chmodSync(join(folder, 'server.key'), 0o644)
  const pooler = await startPooler(databaseUrl('edge_functions'), {
    connections: 20,
    login: 'edge_functions',
    settings: ['sslmode = require', `key_file = ${folder}/server.key`, `cert_file = ${folder}/server.crt`]
      .map((setting) => `client_tls_${setting}`).join('\n'),
  })
  closes.push(pooler.stop)

  const management = await openManagementApi(folder, testKeys)
  closes.push(management.close)

  let stack: Awaited<ReturnType<typeof startStack>> | undefined
  /** Starts those of the stack in this folder, which may be of an older release. */
  const startServices = async (folder?: string): Promise<void> => {
    stack = await startStack({ DATABASE_URL: databaseUrl('supabase_admin') }, folder)
    closes.push(() => stopStack(stack!.process))
  }

  let functions = new Map<string, ServedFunction>()
  /** As the platform does after a deployment or a change of secrets: new instances, and the old ones finish. */
  const startFunctions = async (): Promise<void> => {
    const before = functions
    const environment = {
      SUPABASE_URL: new URL(stack!.base).origin,
      SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: testKeys.publishableKey }),
      SUPABASE_SECRET_KEYS: JSON.stringify({ default: testKeys.secretKey }),
      SUPABASE_DB_URL: databaseUrl('postgres'),
      // The stack's Auth signs with a shared secret.
      JWT_SECRET: testKeys.jwtSecret,
      ...Object.fromEntries(management.secrets),
    }
    const started = [...management.uploads].map(async ([name, upload]) =>
      [name, await serveUpload(upload, folder, environment)] as const
    )
    functions = new Map(await Promise.all(started))
    const stopBefore = () => before.forEach(({ stop }) => stop())
    closes.push(stopBefore)
    setTimeout(stopBefore, 5000)
  }
  closes.push(() => functions.forEach(({ stop }) => stop()))

  const prefix = '/functions/v1/'
  const proxy = await openProxy(({ url, headers }) => {
    const name = url!.startsWith(prefix) && url!.slice(prefix.length).split(/[/?]/)[0]
    const target = name && functions.has(name)
      ? new URL(url!.slice(prefix.length - 1), functions.get(name)!.base)
      : new URL(url!, stack?.base ?? 'http://127.0.0.1:9')
    // Cloudflare's header, which step 3 names.
    return { target, headers: { ...headers, 'cf-connecting-ip': '127.0.0.1' } }
  })
  closes.push(proxy.close)

  /** Posts what pg_net is to send; returns the statuses. */
  const deliver = async (): Promise<number[]> => {
    const rows = await sql`update net.sent set is_posted = true where not is_posted returning *`
    return await Promise.all(rows.map(async ({ id, url, headers, body }) => {
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
      const content = await answer.text()
      await sql`insert into net._http_response (id, status_code, content) values (${id}, ${answer.status}, ${content})`
      return answer.status
    }))
  }

  return {
    origin: proxy.origin,
    databaseUrl: databaseUrl('postgres'),
    sql,
    psql,
    pooler: new URL(pooler.url).host.replace('127.0.0.1', 'localhost'),
    certificate: join(folder, 'ca.crt'),
    management,
    startServices,
    startFunctions,
    functionLog: () => [...functions.values()].map(({ log }) => log()).join(''),
    deliver,
    close: async () => {
      for (const close of closes.reverse()) await close()
    },
  }
}
