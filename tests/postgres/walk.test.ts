// docs/deploy.md, walked: every command line that it prints, in its order, up to a doctor that finds nothing.
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { projectRef } from '../tools/management_api.ts'
import { call, signUp } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'
import type { Outcome } from '../tools/supabase.ts'
import { commands, notHere } from './walked_page.ts'
import { copyRepository, expectGreenDoctor, openWalk } from './walked_project.ts'

let walk: Awaited<ReturnType<typeof openWalk>>
let project: typeof walk.project
let clone: ReturnType<typeof walk.openFolder>

beforeAll(async () => {
  walk = await openWalk()
  project = walk.project
  clone = walk.openFolder(copyRepository())
})
afterAll(() => walk?.close())

const count = (text: string, part: string): number => text.split(part).length - 1

/** What the page promises for a line, and what the platform does then. */
const promised: [line: RegExp, check: (outcome: Outcome) => unknown][] = [
  [/projects create/, ({ stdout }) => expect(stdout).toContain(projectRef)],
  [/api-keys/, ({ stdout }) => {
    for (const key of [testKeys.publishableKey, testKeys.secretKey]) expect(stdout).toContain(key)
  }],
  [/db push --dry-run/, async ({ stdout, stderr }) => {
    for (const name of clone.migrations()) expect(stdout + stderr).toContain(name)
    expect(await project.sql`select from pg_namespace where nspname = 'api'`).toHaveLength(0)
  }],
  [/db push --include-seed/, async ({ stdout }) => {
    expect(stdout).toContain('Finished supabase db push')
    expect((await project.sql`select from public.interests`).length).toBeGreaterThan(50)
    await project.startServices()
  }],
  [/migration list/, ({ stdout }) => {
    for (const name of clone.migrations()) expect(count(stdout, name.split('_')[0]!)).toBe(2)
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
    walk.useToken((await signUp('Operator', {}, `${project.origin}/functions/v1`)).token)
  }],
  // The local stack's Auth names no issuer.
  [/base64url/, ({ stdout }) => expect(stdout).toMatch(/^(undefined|http\S+\/auth\/v1)\n$/)],
  [/npm run doctor/, expectGreenDoctor],
  [/migration new undo_x/, () => {
    rmSync(join(clone.folder, 'supabase/migrations', clone.migrations().find((name) => name.endsWith('_undo_x.sql'))!))
  }],
  [/backups list/, ({ stdout }) => expect(stdout).toContain('COMPLETED')],
]

const runSql = async (text: string): Promise<void> => {
  await project.sql.unsafe(`set role postgres; ${walk.filledIn(text)}; reset role`)
}

/** pg_cron begins with its next ten seconds. Waits for runs that are under way. */
const expectRuns = (text: string): Promise<void> =>
  vi.waitFor(async () => {
    const runs = await project.sql.unsafe(text)
    expect(runs.length).toBeGreaterThan(0)
    expect(runs.filter(({ status }) => status !== 'succeeded')).toEqual([])
  }, { timeout: 200_000, interval: 200 })

test('every command line of docs/deploy.md works, or is known not to be possible here', async () => {
  const lines = commands.map(({ text }) => text)
  expect(Object.keys(notHere).filter((line) => !lines.includes(line))).toEqual([])
  for (const { language, text } of commands) {
    if (text in notHere) continue
    if (language === 'sql') {
      // The page says to wait a minute.
      if (text.includes('job_run_details order')) await expectRuns(text)
      else await runSql(text)
      continue
    }
    const outcome = await clone.succeed(text)
    for (const [line, check] of promised) if (line.test(text)) await check(outcome)
  }
  expect(project.management.unknown).toEqual([])
})

test('what the schedule sends is taken by the functions that are deployed', async () => {
  const [job] = await project.sql`select command from cron.job where jobname = 'drain the embedding queue'`
  await project.sql.begin(async (sql) => {
    await sql`insert into private.embedding_queue (kind, id) values ('profile', 999999)`
    await sql.unsafe(job!.command)
  })
  expect(await project.deliver()).toEqual([200])
})
