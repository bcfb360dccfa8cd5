// The recipes of CONTRIBUTING.md: each is a diff of all that one writes by hand. On a copy of the repository scripts
// make the other files anew, they compile together, and the rules pass.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { isDue } from '../tools/changed.ts'
import { databaseTypes } from '../tools/database_types.ts'
import { makeDatabase } from '../tools/postgres.ts'

const recipes = readdirSync('tests/recipes').sort()
const filesOf = (recipe: string) =>
  [...readFileSync(`tests/recipes/${recipe}`, 'utf8').matchAll(/^diff --git a\/(\S+)/gm)].map(([, path]) => path!)

test.each(recipes)('%s needs six files at most, which CONTRIBUTING.md names', (recipe) => {
  const [, text] = readFileSync('CONTRIBUTING.md', 'utf8').split(`(tests/recipes/${recipe})`)
  const named = [...text!.split(/\n- \[|\n\n/)[0]!.matchAll(/`(\w+\/\S+)`/g)].map(([, path]) => path)
  expect(named.toSorted()).toEqual(filesOf(recipe).toSorted())
  expect(named.length).toBeLessThanOrEqual(6)
})

const copy = mkdtempSync(join(tmpdir(), 'recipes-'))
afterAll(() => rmSync(copy, { recursive: true, force: true }))
const inCopy = (program: string, args: string[], env: Record<string, string> = {}): string =>
  execFileSync(program, args, {
    cwd: copy,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 1e8,
  })
const deno = (...args: string[]) => inCopy('node_modules/.bin/deno', args)

const changed = [...new Set(recipes.flatMap(filesOf))]
// What a recipe uses is used in the files that it changes, or by the command that writes its migration.
const tools = ['run.sh', 'build.ts', 'write_migration.ts'].map((name) => `tests/postgres/${name}`)
test.runIf(isDue('tests/recipes', 'supabase/migrations', ...tools, ...changed))(
  'applied to a copy, they pass its checks and its rules',
  async () => {
    for (const path of execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')) {
      cpSync(path, join(copy, path), { preserveTimestamps: true })
    }
    symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
    inCopy('git', ['init', '--quiet'])
    for (const recipe of recipes) inCopy('git', ['apply', resolve('tests/recipes', recipe)])
    inCopy('npm', ['run', 'migration', '--', 'recipes'])
    const DATABASE_URL = await makeDatabase('recipes')
    // The first who opens the database migrates it.
    const runIn = (script: string, ...args: string[]) =>
      inCopy('node_modules/.bin/deno', ['run', '-A', script, ...args], { DATABASE_URL })
    const rules = changed.flatMap((path) => /^tests\/rules\/(\w+\.)rules\.ts$/.exec(path)?.[1] ?? [])
    const printed = runIn('tests/rules/run.ts', ...rules)
    const results: { name: string; error: string | null }[] = JSON.parse(printed.slice(printed.indexOf('[{')))
    expect(results.length).toBeGreaterThan(30)
    expect(results.filter(({ error }) => error)).toEqual([])
    expect(runIn('tests/db/run.ts', 'privacy')).toMatch(/"ok (?!.*"not ok )/)
    writeFileSync(join(copy, 'functions/_shared/database.types.ts'), await databaseTypes(DATABASE_URL))
    deno('run', '-A', 'scripts/write_openapi.ts')
    deno('fmt', '--check', '--quiet', ...changed.filter((path) => path.endsWith('.ts')))
    deno('check', '--quiet', 'functions', 'docs')
    deno('check', '--quiet', '--config', 'scripts/browser.json', 'demo')
  },
)
