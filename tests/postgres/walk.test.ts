// docs/deploy.md, walked: every command line that it prints, in its order, up to a doctor that finds nothing. Then the
// project grows, and a migration and new functions are deployed while it is used.
//   MESSAGES=1000000 npm run test:postgres -- tests/postgres/walk
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { rateNames } from '../../functions/_shared/setting_rules.ts'
import { projectRef } from '../tools/management_api.ts'
import { call, openConversation, type Person, signUp } from '../tools/people.ts'
import { providePgNet } from '../tools/pg_net.ts'
import { testKeys } from '../tools/stack.ts'
import type { Outcome } from '../tools/supabase.ts'
import { pause } from '../tools/wait.ts'
import { type DeployedProject, openDeployedProject } from './deployed_project.ts'
import { commands, notHere } from './walked_page.ts'

const messages = Number(process.env.MESSAGES ?? 20_000)
const migrations = readdirSync('supabase/migrations').sort()
/** The newest migration after the baseline is what the upgrade applies. */
const newest = migrations.length > 2 ? migrations.at(-1)! : null
const folder = mkdtempSync(join(tmpdir(), 'walk-'))
let project: DeployedProject

/** What somebody has who follows the page: the repository, and what they exported. */
const makeFolder = (): void => {
  for (const name of readdirSync('.')) {
    if (name.startsWith('.') || ['node_modules', 'dist'].includes(name)) continue
    cpSync(name, join(folder, name), { recursive: true, preserveTimestamps: true })
  }
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'))
  if (newest) rmSync(join(folder, 'supabase/migrations', newest))
}
let exported = ''

beforeAll(async () => {
  makeFolder()
  project = await openDeployedProject()
})
afterAll(async () => {
  await project?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs a line as a person would who answers yes. */
const runLine = (line: string): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = spawn('bash', ['-c', `${exported}\n${line}`], {
      cwd: folder,
      env: {
        ...process.env,
        // The CLI keeps its log-in there.
        HOME: join(folder, 'home'),
        DENO_DIR: process.env.DENO_DIR ?? join(homedir(), '.cache/deno'),
        DO_NOT_TRACK: '1',
        SUPABASE_TELEMETRY_DISABLED: '1',
        SUPABASE_NO_UPDATE_NOTIFIER: '1',
        NO_UPDATE_NOTIFIER: '1',
        SUPABASE_ACCESS_TOKEN: project.management.token,
        SUPABASE_PROFILE: project.management.profile,
        PGSSLMODE: 'disable',
      },
    })
    const outcome = { code: 0, stdout: '', stderr: '' }
    child.stdout.on('data', (text) => outcome.stdout += text)
    child.stderr.on('data', (text) => outcome.stderr += text)
    // A command that asks nothing may have ended.
    child.stdin.on('error', () => {})
    child.stdin.end('y\n')
    child.on('close', (code) => resolve({ ...outcome, code: code ?? 1 }))
  })

let token = ''
/** The values of this project. The CLI reaches a linked database only by a name under supabase.co, so it gets a URL. */
const filledIn = (line: string): string => {
  const values = {
    'https://<ref>.supabase.co': project.origin,
    '<connection string, from the dashboard under Connect>': project.databaseUrl,
    '<pooler>:6543': project.pooler,
    '<ref>': projectRef,
    '<certificate.crt>': project.certificate,
    '<secret key, sb_secret_…>': testKeys.secretKey,
    'sb_publishable_…': testKeys.publishableKey,
    'sb_secret_…': testKeys.secretKey,
    '<password>': 'a-long-password',
    '<organisation>': 'organisation',
    '<region>': 'eu-west-1',
    '<version>': migrations[0]!.split('_')[0]!,
    '<access token>': token,
  }
  return Object.entries(values).reduce(
    (filled, [name, value]) => filled.replaceAll(name, value),
    line
      .replace(/^(npx supabase (?:db|migration) .*)--linked/, `$1--db-url ${project.databaseUrl}`)
      .replace(/^npx (supabase .*)/, 'node_modules/.bin/$1 --agent no'),
  )
}

const count = (text: string, part: string): number => text.split(part).length - 1
const isGreen = ({ stdout }: Outcome) =>
  expect(stdout.match(/^(?:FAIL.*|\d+ ok, .*)$/gm)!.join('\n')).toMatch(/ 0 failed/)

const pushed = () => readdirSync(join(folder, 'supabase/migrations'))
/** What the page promises for a line, and what the platform does then. */
const promised: [line: RegExp, check: (outcome: Outcome) => unknown][] = [
  [/projects create/, ({ stdout }) => expect(stdout).toContain(projectRef)],
  [/api-keys/, ({ stdout }) => {
    for (const key of [testKeys.publishableKey, testKeys.secretKey]) expect(stdout).toContain(key)
  }],
  [/db push --dry-run/, async ({ stdout, stderr }) => {
    for (const name of pushed()) expect(stdout + stderr).toContain(name)
    expect(await project.sql`select from pg_namespace where nspname = 'api'`).toHaveLength(0)
  }],
  [/db push --include-seed/, async ({ stdout }) => {
    expect(stdout).toContain('Finished supabase db push')
    await project.startServices()
  }],
  [/migration list/, ({ stdout }) => {
    for (const name of pushed()) expect(count(stdout, name.split('_')[0]!)).toBe(2)
  }],
  [/functions list/, ({ stdout }) => {
    const names = readdirSync('functions').filter((name) => !name.includes('_') && !name.includes('.'))
    for (const name of names) expect(stdout).toContain(name)
    expect(count(stdout, 'ACTIVE')).toBe(names.length)
  }],
  [/npm run deploy|EDGE_DATABASE_URL/, () => project.startFunctions()],
  [/curl .*health/, ({ stdout }) => expect(JSON.parse(stdout)).toMatchObject({ status: 'ok', database: 'ok' })],
  [/secrets set .*EDGE_DATABASE_URL/, async () => {
    const { status } = await call('GET', `${project.origin}/functions/v1/users/interests`)
    expect(status, project.functionLog()).toBe(200)
    expect(project.functionLog()).not.toContain('Not connected as edge_functions')
    expect(await project.sql`select from pg_stat_activity where usename = 'edge_functions'`).not.toHaveLength(0)
    token = (await signUp('Operator', {}, `${project.origin}/functions/v1`)).token
  }],
  // The local stack's Auth names no issuer.
  [/base64url/, ({ stdout }) => expect(stdout).toMatch(/^(undefined|http\S+\/auth\/v1)\n$/)],
  [/npm run doctor/, isGreen],
  [/migration new undo_x/, () => {
    rmSync(join(folder, 'supabase/migrations', pushed().find((name) => name.endsWith('_undo_x.sql'))!))
  }],
  [/backups list/, ({ stdout }) => expect(stdout).toContain('COMPLETED')],
]

const runSql = async (text: string): Promise<void> => {
  if (text.includes('create extension')) providePgNet()
  await project.sql.unsafe(`set role postgres; ${filledIn(text)}; reset role`)
}

/** pg_cron begins with its next ten seconds. Waits for runs that are under way. */
const expectRuns = (text: string): Promise<void> =>
  vi.waitFor(async () => {
    const runs = await project.sql.unsafe(text)
    expect(runs.length).toBeGreaterThan(0)
    expect(runs.filter(({ status }) => status !== 'succeeded')).toEqual([])
  }, { timeout: 40_000, interval: 200 })

test('every command line of docs/deploy.md works, or is known not to be possible here', async () => {
  const lines = commands.map(({ text }) => text)
  expect(Object.keys(notHere).filter((line) => !lines.includes(line))).toEqual([])
  for (const { language, text } of commands) {
    if (text in notHere) continue
    if (language === 'sql') {
      if (!text.includes('job_run_details order')) await runSql(text)
      continue
    }
    if (text.startsWith('export ')) exported = filledIn(text)
    const outcome = await runLine(filledIn(text))
    expect(outcome.code, `${text}\n${outcome.stdout}${outcome.stderr}`).toBe(0)
    for (const [line, check] of promised) if (line.test(text)) await check(outcome)
  }
  expect(project.management.unknown).toEqual([])
  // The page says to wait a minute.
  await expectRuns(commands.find(({ text }) => text.includes('job_run_details order'))!.text)
})

test('what the schedule sends is taken by the functions that are deployed', async () => {
  const [job] = await project.sql`select command from cron.job where jobname = 'drain the embedding queue'`
  await project.sql.begin(async (sql) => {
    await sql`insert into private.embedding_queue (kind, id) values ('profile', 999999)`
    await sql.unsafe(job!.command)
  })
  expect(await project.deliver()).toEqual([200])
})

// What a migration may do while functions of the previous release serve requests, as CONTRIBUTING.md prescribes it.
const sampleMigrations = {
  '99990101000000_add.sql': `
    set local lock_timeout = '500ms';
    alter table public.messages add column added integer not null default 0;
    alter table public.messages add constraint "added is not negative" check (added >= 0) not valid;
    drop policy "participants read messages" on public.messages;
    create policy "participants read messages" on public.messages
      for select to authenticated
      using (conversation_id in (select private.my_conversations()));
    do $$
    declare
      definition text;
    begin
      -- Loads pgvector's library. Without it role postgres may not set its parameters, as one of the functions does.
      perform '[1]'::extensions.vector;
      for definition in
        select pg_get_functiondef(oid)
        from pg_proc
        where pronamespace in ('api'::regnamespace, 'private'::regnamespace) and prokind = 'f'
      loop
        execute definition;
      end loop;
    end
    $$;
  `,
  '99990101000001_validate.sql': 'alter table public.messages validate constraint "added is not negative";',
  '99990101000002_index.sql': 'create index concurrently messages_added_idx on public.messages (added, id);',
}

/** Adds people, conversations and messages as the bench does, and nobody who can be found. */
const grow = (): void => {
  const sizes = { users: messages / 100, conversations: messages / 50, messages }
  const variables = Object.entries(sizes).flatMap(([name, value]) => ['-v', `${name}=${Math.max(value, 1000)}`])
  project.psql(...variables, '-f', 'bench/endpoints/fixture.sql')
  project.psql(
    ...['-c', 'set session_replication_role = replica', '-c', 'update public.profiles set is_searchable = false'],
    ...['-c', 'drop schema bench cascade'],
  )
}

/** How long statements wait for a lock on a table, at most, in milliseconds. */
const watchLocks = () => {
  let [isOver, longest] = [false, 0]
  const watching = (async () => {
    for (; !isOver; await pause(5)) {
      const [row] = await project.sql`
        select coalesce(max(extract(epoch from clock_timestamp() - waitstart)) * 1000, 0)::float as waited
        from pg_locks where locktype = 'relation' and not granted`
      longest = Math.max(longest, row!.waited)
    }
    return longest
  })()
  return () => {
    isOver = true
    return watching
  }
}

type Request = [method: string, path: string, body?: () => unknown]

test('an upgrade of a project in use keeps nobody waiting for long, and no request fails', async () => {
  grow()
  // These people do more than people may.
  for (const name of rateNames) project.management.secrets.set(name, 'off')
  await project.startFunctions()
  const base = `${project.origin}/functions/v1`
  const searchable = { city: 'Porto', is_searchable: true }
  const [ana, ben] = [await signUp('Ana', searchable, base), await signUp('Ben', searchable, base)]
  const conversation = await openConversation(ana, ben)
  const requests: Request[] = [
    ['POST', `/conversations/${conversation}/messages`, () => ({ content: 'Still there?', client_id: randomUUID() })],
    ['GET', `/conversations/${conversation}/messages?limit=20`],
    ['GET', '/conversations'],
    ['GET', '/conversations/unread'],
    ['GET', '/users/search?q=porto'],
    ['PATCH', '/users/profile', () => ({ biography: `I was here at ${Date.now()}` })],
    ['PATCH', '/users/searchable', () => ({ is_searchable: true })],
    ['GET', '/users/me'],
  ]
  const failures: string[] = []
  const sent = new Set<number>()
  let [answered, slowest, isOver] = [0, 0, false]
  const keepAsking = async ({ token }: Person, start: number): Promise<void> => {
    for (let round = start; !isOver; round++) {
      const [method, path, body] = requests[round % requests.length]!
      const began = performance.now()
      const sentBody = body?.()
      const ask = () => call(method, base + path, sentBody, { token })
      const first = await ask()
      // A busy machine: whoever repeats it is answered.
      const { status, text, body: answer } = first.status === 503 ? await ask() : first
      slowest = Math.max(slowest, performance.now() - began)
      answered++
      if (status >= 300) failures.push(`${method} ${path} answered ${status} ${text}`)
      else if (method === 'POST') sent.add(answer.id)
    }
  }
  const locks = watchLocks()
  // Both participants send every request in turn, twice.
  const clients = [0, 1, 2, 3].map((start) => keepAsking([ana, ben][start % 2]!, start * 2))
  await pause(1000)

  const target = join(folder, 'supabase/migrations')
  if (newest) cpSync(join('supabase/migrations', newest), join(target, newest))
  else for (const [name, script] of Object.entries(sampleMigrations)) writeFileSync(join(target, name), script)
  const before = answered
  const succeed = async (line: string) => {
    const { code, stderr } = await runLine(filledIn(line))
    expect(code, stderr).toBe(0)
  }
  await succeed('npx supabase db push --include-seed --linked')
  const applied = answered
  await succeed('npm run deploy')
  await project.startFunctions()
  const renewed = answered
  await pause(2000)
  isOver = true
  await Promise.all(clients)
  const waited = await locks()
  const figures = { messages, waited, answered, slowest, failed: failures.length }
  console.log(`upgrade, in milliseconds: ${JSON.stringify(figures)}`)

  expect([...new Set(failures)]).toEqual([])
  // Ten times lock_timeout: the machine may be busy.
  expect(waited).toBeLessThan(5000)
  // During the migration, during the deployment and since.
  for (const number of [applied - before, renewed - applied, answered - renewed]) expect(number).toBeGreaterThan(5)
  const versions = await project.sql`select version from supabase_migrations.schema_migrations order by version`
  expect(versions.map(({ version }) => version)).toEqual(pushed().sort().map((name) => name.split('_')[0]))
  const stored = await project.sql`select id::int from public.messages where conversation_id = ${conversation}`
  expect(new Set(stored.map(({ id }) => id))).toEqual(sent)
  isGreen(await runLine(filledIn('npm run doctor -- --remote https://<ref>.supabase.co --write')))
})
