import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { generateTypescript, sortGeneratorMetadata } from '@supabase/postgrest-typegen/generation'
import { introspect } from '@supabase/postgrest-typegen/introspection'
import { describe, expect, inject, test } from 'vitest'
import { connected, copyDatabase } from '../tools/postgres.ts'
import { migrationHashes } from '../tools/migrations.ts'
import { platform, supabase } from '../tools/supabase.ts'

// A fault for each check.
await copyDatabase(
  'faulty',
  `
    set role postgres;
    alter table public.messages alter column content drop not null;
    create function private.faulty_without_search_path() returns integer language sql as 'select 1';
    create function private.faulty_unknown_column() returns integer language plpgsql set search_path = '' as
      'begin return (select no_such_column from public.users); end';
  `,
)

/** What a command of the CLI prints about this database, as JSON. */
const ask = async <Report>(command: string, database: string) => {
  const args = [...command.split(' '), '--output-format', 'json', `--db-url=${platform(database)}`]
  const { code, stdout } = await supabase(args)
  return { code, report: JSON.parse(stdout) as Report }
}

describe('supabase db push', () => {
  test('builds an empty project as a role that is not a superuser, with its interests', async () => {
    const { code, stderr } = inject('push')
    expect(code, stderr).toBe(0)
    const [row] = await connected(platform('pushed'), (sql) =>
      sql`
        select current_user as name, rolsuper, (select count(*)::int from public.interests) as interests
        from pg_roles where rolname = current_user`)
    expect(row).toEqual({ name: 'postgres', rolsuper: false, interests: expect.any(Number) })
    expect(row!.interests).toBeGreaterThan(50)
  })

  test.concurrent('lists every migration as applied', async () => {
    type Migration = { local: string; remote: string }
    const { report: { migrations } } = await ask<{ migrations: Migration[] }>('migration list', 'pushed')
    const versions = readdirSync('supabase/migrations').sort().map((file) => file.split('_')[0])
    expect(migrations.map(({ local }) => local)).toEqual(versions)
    expect(migrations.map(({ remote }) => remote)).toEqual(versions)
    // Whoever has applied them: the CLI splits a file into statements.
    expect((await connected(platform('pushed'), (sql) => sql`select private.list_migrations() as list`))[0]!.list)
      .toEqual(migrationHashes())
  })
})

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
    const statements = await difference('pushed', 'faulty')
    expect(statements).toMatch(/alter column "?content"? drop not null/i)
    expect(statements).toContain('faulty_without_search_path')
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
      'any_term', 'denied', 'either', 'either_number', 'hit_body', 'iso', 'latest_entries_of', 'lexeme',
      'matches_filter', 'my_id', 'naming', 'phrase', 'shown_score', 'tags_of', 'term_query', 'to_message_view',
      'to_state', 'typo_budget', 'weight_value',
    ],
  ],
}

describe('supabase db lint', () => {
  interface Report {
    results: { function: string; issues: { message: string; detail?: string }[] }[]
  }
  const lint = async (database: string): Promise<string[]> => {
    const command = 'db lint --schema public,api,private --level warning --fail-on warning'
    const { code, report: { results } } = await ask<Report>(command, database)
    const findings = results.flatMap(({ function: name, issues }) =>
      issues.map(({ message, detail }) => `${name}: ${detail ?? message}`)
    )
    expect(code).toBe(findings.length > 0 ? 1 : 0)
    return [...new Set(findings)]
  }

  test.concurrent('finds only known issues, and an unknown column', async () => {
    expect((await lint('pushed')).toSorted()).toEqual(tolerated.lint.toSorted())
    expect(await lint('faulty')).toContain('private.faulty_unknown_column: column "no_such_column" does not exist')
  })
})

describe('supabase db advisors', () => {
  interface Report {
    results: { name: string; metadata: { schema: string; name: string } }[]
  }
  const advisors = async (database: string): Promise<string[]> => {
    const { code, report: { results } } = await ask<Report>('db advisors --level warn --fail-on warn', database)
    expect(code).toBe(results.length > 0 ? 1 : 0)
    return results.map(({ name, metadata }) => `${name} ${metadata.schema}.${metadata.name}`).toSorted()
  }
  const finding = (name: string) => `function_search_path_mutable private.${name}`

  test.concurrent('find only known issues, and a function without search_path', async () => {
    expect(await advisors('pushed')).toEqual(tolerated.withoutSearchPath.map(finding).toSorted())
    expect(await advisors('faulty')).toContain(finding('faulty_without_search_path'))
  })
})

const formatted = (source: string): string =>
  execFileSync('node_modules/.bin/deno', ['fmt', '--quiet', '--ext', 'ts', '-'], { input: source, encoding: 'utf8' })

// After a change of a table: npm run test:postgres -- tests/postgres/schema.test.ts -u
// The library behind `supabase gen types`, which needs Docker for a database that is not hosted.
test.concurrent('the TypeScript types match the database', async ({ expect }) => {
  const types = await connected(platform('pushed'), async (sql) => {
    const metadata = await introspect(
      { query: async (text) => ({ rows: await sql.unsafe(text) }) },
      { includedSchemas: ['public'] },
    )
    return await generateTypescript(sortGeneratorMetadata(metadata))
  })
  await expect(formatted(types)).toMatchFileSnapshot('../../functions/_shared/database.types.ts')
})
