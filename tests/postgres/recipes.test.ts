// The recipes of CONTRIBUTING.md: each is a diff of all that one writes by hand. On a copy of the repository they
// compile together, the commands make the other files anew, and the rules pass.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'

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

test('applied to a copy, they pass its checks and its rules', () => {
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: copy, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1e8 })
  for (const path of execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')) {
    cpSync(path, join(copy, path), { preserveTimestamps: true })
  }
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
  run('git', 'init', '--quiet')
  for (const recipe of recipes) run('git', 'apply', resolve('tests/recipes', recipe))
  run('npm', 'run', 'baseline')
  run('bash', 'tests/postgres/run.sh', 'tests/postgres/schema.test.ts', 'tests/db', '-u')
  run('npm', 'run', 'openapi')
  run('git', 'add', '--all')
  run('npm', 'run', 'check')
  const rules = recipes.flatMap(filesOf).flatMap((path) => /^tests\/rules\/(\w+)\.rules\.ts$/.exec(path)?.[1] ?? [])
  const printed = run('node_modules/.bin/deno', 'run', '-A', 'tests/rules/run.ts', ...new Set(rules))
  const results: { name: string; error: string | null }[] = JSON.parse(printed.slice(printed.indexOf('[{')))
  expect(results.length).toBeGreaterThan(50)
  expect(results.filter(({ error }) => error)).toEqual([])
})
