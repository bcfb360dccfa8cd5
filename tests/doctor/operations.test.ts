import { readFileSync } from 'node:fs'
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
