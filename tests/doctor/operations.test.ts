import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const read = (path: string) => readFileSync(path, 'utf8')
const all = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, found]) => found!))]

test('alerts and dashboard read metrics that there are, and every metric is on the dashboard', () => {
  const sources = read('functions/health/index.ts') + read('functions/_shared/metrics.ts')
  const metrics = all(sources, /(?:gauge|format)\(\s*'(\w+)'/g)
  const dashboard: { panels: { targets: { expr: string }[] }[] } = JSON.parse(read('ops/dashboard.json'))
  const shown = dashboard.panels.flatMap(({ targets }) => targets).map(({ expr }) => expr).join('\n')
  const asked = all(read('ops/alerts.yml').replaceAll(/^(?!.*expr:).*$/gm, '') + shown, /\b([a-z]+(?:_[a-z]+)+)\b/g)
  expect(metrics.length).toBeGreaterThan(10)
  expect(asked.filter((name) => !metrics.includes(name))).toEqual([])
  expect(metrics.filter((name) => !shown.includes(name))).toEqual(['database_data'])
})

test('every alert names a section of the runbook', () => {
  const headings = all(read('docs/runbook.md'), /^### (.*)$/gm)
    .map((heading) => heading.toLowerCase().replaceAll(/[^\w ]/g, '').replaceAll(' ', '-'))
  const named = all(read('ops/alerts.yml'), /runbook\.md#(\S+)/g)
  expect(named.length).toBeGreaterThan(4)
  expect(named.filter((name) => !headings.includes(name))).toEqual([])
})

test('the pipeline runs commands of the page on deploying, in its order', () => {
  const page = read('docs/deploy.md').replaceAll(/<ref>/g, '${{ vars.SUPABASE_PROJECT_REF }}')
  const commands = all(read('.github/workflows/deploy_project.yml'), /run: (.*)$/gm)
    .map((command) => command.replace(/ --yes$/, ''))
  expect(commands.length).toBeGreaterThan(5)
  // The first deployment includes the seed, an upgrade does not.
  const places = commands.map((command) => page.replaceAll(' --include-seed', '').indexOf(command))
  expect(places).toEqual(places.filter((place) => place > 0).toSorted((one, other) => one - other))
})

test('a released migration that has changed or is gone is refused, a new one before it, and an empty list', () => {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  const check = () =>
    spawnSync('sh', [resolve('scripts/check_migrations.sh')], { cwd: folder, encoding: 'utf8' }).stderr
  cpSync('supabase/migrations', join(folder, 'supabase/migrations'), { recursive: true })
  cpSync('supabase/released.sha256', join(folder, 'supabase/released.sha256'))
  expect(check()).toBe('')
  const path = (name: string) => join(folder, 'supabase/migrations', name)
  const [released] = readdirSync('supabase/migrations').sort()
  writeFileSync(path('20200101000000_early.sql'), '')
  expect(check()).toMatch(/not released is older/)
  rmSync(path('20200101000000_early.sql'))
  writeFileSync(path('99990101000000_late.sql'), '')
  expect(check()).toBe('')
  writeFileSync(path(released!), `${read(`supabase/migrations/${released}`)} `)
  expect(check()).toMatch(/A released migration has changed/)
  rmSync(path(released!))
  expect(check()).toMatch(/A released migration has changed/)
  writeFileSync(join(folder, 'supabase/released.sha256'), '')
  expect(check()).toMatch(/no properly formatted/)
  rmSync(folder, { recursive: true })
})
