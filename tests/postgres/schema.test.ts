import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { generateTypescript, sortGeneratorMetadata } from '@supabase/postgrest-typegen/generation'
import { introspect } from '@supabase/postgrest-typegen/introspection'
import postgres from 'postgres'
import { afterAll, describe, expect, inject, test } from 'vitest'
import { connected } from '../tools/postgres.ts'
import { platform, supabase } from '../tools/supabase.ts'

const pushed = postgres(platform('pushed'), { max: 1 })
afterAll(() => pushed.end())

describe('supabase db push', () => {
  test('builds an empty project as a role that is not a superuser', async () => {
    const { code, stderr } = inject('push')
    expect(code, stderr).toBe(0)
    const [role] = await pushed`select current_user as name, rolsuper from pg_roles where rolname = current_user`
    expect(role).toEqual({ name: 'postgres', rolsuper: false })
  })

  test('seeds the interests', async () => {
    const [interests] = await pushed`select count(*)::int from public.interests`
    expect(interests!.count).toBeGreaterThan(50)
  })

  test.concurrent('lists every migration as applied', async () => {
    const { stdout } = await supabase([
      ...['migration', 'list', '--output-format', 'json'],
      `--db-url=${platform('pushed')}`,
    ])
    const { migrations } = JSON.parse(stdout) as { migrations: { local: string; remote: string }[] }
    const versions = readdirSync('supabase/migrations').sort().map((file) => file.split('_')[0])
    expect(migrations.map(({ local }) => local)).toEqual(versions)
    expect(migrations.map(({ remote }) => remote)).toEqual(versions)
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

// Known findings with their reason. Findings that disappear must be removed here.
const inlined = 'a search_path of its own would keep the planner from inlining it'
const aggregate = 'an aggregate has no body'
const tolerated = {
  lint: {
    'public.describe_schedule: relation "cron.job" does not exist': 'it looks first whether pg_cron is there',
  } as Record<string, string>,
  advisors: {
    'function_search_path_mutable private.matches_filter': inlined,
    'function_search_path_mutable private.semantic_score': inlined,
    'function_search_path_mutable private.all_of': aggregate,
    'function_search_path_mutable private.any_of': aggregate,
    'function_search_path_mutable private.attribute_at': inlined,
    'function_search_path_mutable private.closest_bit': inlined,
    'function_search_path_mutable private.final_score': inlined,
    'function_search_path_mutable private.hit_body': inlined,
    'function_search_path_mutable private.lexeme': inlined,
    'function_search_path_mutable private.text_start': inlined,
    'function_search_path_mutable private.text_start_at': inlined,
    'function_search_path_mutable private.weight_class': inlined,
    'function_search_path_mutable private.iso': inlined,
    'function_search_path_mutable private.latest_entries_of': inlined,
    'function_search_path_mutable private.nearness': inlined,
    'function_search_path_mutable private.term_query': inlined,
    'function_search_path_mutable private.shown_score': inlined,
    'function_search_path_mutable private.keyword_score': inlined,
    'function_search_path_mutable private.my_id': inlined,
    'function_search_path_mutable private.position_cost': inlined,
    'function_search_path_mutable private.typo_budget': inlined,
    'function_search_path_mutable private.to_message_view': inlined,
  } as Record<string, string>,
}

describe('supabase db lint', () => {
  interface Report {
    results: { function: string; issues: { message: string; detail?: string }[] }[]
  }
  const lint = async (database: string): Promise<string[]> => {
    const { code, stdout } = await supabase([
      ...['db', 'lint', '--schema', 'public,api,private', '--level', 'warning', '--fail-on', 'warning'],
      ...['--output-format', 'json', `--db-url=${platform(database)}`],
    ])
    const { results } = JSON.parse(stdout) as Report
    const findings = results.flatMap(({ function: name, issues }) =>
      issues.map(({ message, detail }) => `${name}: ${detail ?? message}`)
    )
    expect(code).toBe(findings.length > 0 ? 1 : 0)
    return [...new Set(findings)].sort()
  }

  test.concurrent('finds only known issues', async () => {
    expect(await lint('pushed')).toEqual(Object.keys(tolerated.lint).sort())
  })

  test.concurrent('finds an unknown column', async () => {
    expect(await lint('faulty')).toContain('private.faulty_unknown_column: column "no_such_column" does not exist')
  })
})

describe('supabase db advisors', () => {
  interface Report {
    results: { name: string; metadata: { schema: string; name: string } }[]
  }
  const advisors = async (database: string): Promise<string[]> => {
    const { code, stdout } = await supabase([
      ...['db', 'advisors', '--level', 'warn', '--fail-on', 'warn'],
      ...['--output-format', 'json', `--db-url=${platform(database)}`],
    ])
    const { results } = JSON.parse(stdout) as Report
    expect(code).toBe(results.length > 0 ? 1 : 0)
    return results.map(({ name, metadata }) => `${name} ${metadata.schema}.${metadata.name}`).sort()
  }

  test.concurrent('find only known issues', async () => {
    expect(await advisors('pushed')).toEqual(Object.keys(tolerated.advisors).sort())
  })

  test.concurrent('find a function without search_path', async () => {
    expect(await advisors('faulty')).toContain('function_search_path_mutable private.faulty_without_search_path')
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
