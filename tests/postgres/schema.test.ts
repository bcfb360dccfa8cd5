// What `supabase db push` makes of an empty project is in walk.test.ts.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { databaseTypes } from '../tools/database_types.ts'
import { copyDatabase } from '../tools/postgres.ts'
import { platform, supabase } from '../tools/supabase.ts'

await copyDatabase('faulty', 'set role postgres; alter table public.messages alter column content drop not null')

/** What a command of the CLI prints about this database, as JSON. */
const ask = async <Report>(command: string, database: string) => {
  const args = [...command.split(' '), '--output-format', 'json', `--db-url=${platform(database)}`]
  const { code, stdout } = await supabase(args)
  return { code, report: JSON.parse(stdout) as Report }
}

describe('sql/schema and supabase/migrations', () => {
  test.each(['sql/schema', 'supabase/migrations'])('%s contains nothing about the local stack', (folder) => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.sql'))
    expect(files.length).toBeGreaterThan(1)
    for (const file of files) {
      expect(readFileSync(`${folder}/${file}`, 'utf8'), file).not.toMatch(
        /local_realtime|supabase_admin|127\.0\.0\.1/i,
      )
    }
  })

  const difference = async (from: string, to: string): Promise<string> => {
    const { code, stdout, stderr } = await supabase(['db', 'diff', '--from', platform(from), '--to', platform(to)])
    expect(code, stderr).toBe(0)
    return stdout.trim()
  }

  test.concurrent('build the same schema', async () => {
    expect(await difference('pushed', 'scripted')).toBe('')
  })

  test.concurrent('would be found to differ', async () => {
    expect(await difference('pushed', 'faulty')).toMatch(/alter column "?content"? drop not null/i)
  })
})

// Known findings with their reason. Those that disappear must be removed here.
const tolerated = {
  lint: [
    // What only Supabase has.
    'public.describe_schedule: relation "cron.job" does not exist',
    'private.schedule_jobs: schema "cron" does not exist',
    'private.call_edge_function: relation "vault.decrypted_secrets" does not exist',
  ],
  withoutSearchPath: [
    // An aggregate has no body.
    ...['all_of', 'any_of'],
    // One of its own would keep the planner from inlining it.
    // deno-fmt-ignore
    ...[
      'iso', 'latest_entries_of', 'lexeme', 'matches_filter', 'my_id', 'naming', 'shown_score',
      'to_contact', 'to_message_view', 'to_state', 'weight_value',
    ],
  ],
}

test.concurrent('supabase db lint finds the known issues, and no others', async () => {
  type Report = { results: { function: string; issues: { message: string; detail?: string }[] }[] }
  const command = 'db lint --schema public,api,private --level warning --fail-on warning'
  const { code, report: { results } } = await ask<Report>(command, 'pushed')
  const findings = results.flatMap(({ function: name, issues }) =>
    issues.map(({ message, detail }) => `${name}: ${detail ?? message}`)
  )
  expect([code, [...new Set(findings)].toSorted()]).toEqual([1, tolerated.lint.toSorted()])
})

test.concurrent('supabase db advisors find the known issues, and no others', async () => {
  type Report = { results: { name: string; metadata: { schema: string; name: string } }[] }
  const { code, report: { results } } = await ask<Report>('db advisors --level warn --fail-on warn', 'pushed')
  const findings = results.map(({ name, metadata }) => `${name} ${metadata.schema}.${metadata.name}`).toSorted()
  const known = tolerated.withoutSearchPath.map((name) => `function_search_path_mutable private.${name}`)
  expect([code, findings]).toEqual([1, known.toSorted()])
})

const formatted = (source: string): string =>
  execFileSync('node_modules/.bin/deno', ['fmt', '--quiet', '--ext', 'ts', '-'], { input: source, encoding: 'utf8' })

// After a change of a table: npm run test:postgres -- tests/postgres/schema.test.ts -u
test.concurrent('the TypeScript types match the database', async ({ expect }) => {
  const types = await databaseTypes(platform('pushed'))
  await expect(formatted(types)).toMatchFileSnapshot('../../functions/_shared/database.types.ts')
})
