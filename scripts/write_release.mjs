/**
 * Makes a release of what is committed, and says what it wrote: the version, the heading in CHANGELOG.md, and the list
 * of migrations that are frozen from now on, which nothing else writes.
 *   npm run release -- VERSION
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const [version] = process.argv.slice(2)
const run = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' })

const heading = '## [Unreleased]\n'
const changes = readFileSync('CHANGELOG.md', 'utf8')
const unreleased = changes.split(heading)[1]?.split(/^## /m)[0].trim()
const last = changes.match(/^## \[(\d[^\]]*)\]/m)?.[1]
const isLater = !last || last.localeCompare(version, 'en', { numeric: true }) < 0
const refusals = [
  [!/^\d+\.\d+\.\d+$/.test(version ?? ''), 'usage: npm run release -- VERSION (as 1.1.0)'],
  [!isLater, `The last release is ${last}`],
  [!unreleased, `CHANGELOG.md says nothing under ${heading.trim()}`],
  [run('git', 'status', '--porcelain') !== '', 'Commit or stash your changes first'],
]
const refusal = refusals.find(([isRefused]) => isRefused)
if (refusal) {
  console.error(refusal[1])
  process.exit(1)
}

const edit = (path, change) => {
  const content = JSON.parse(readFileSync(path, 'utf8'))
  change(content)
  writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`)
}
edit('package.json', (own) => own.version = version)
edit('clients/package.json', (own) => own.version = version)
edit('package-lock.json', (lock) => lock.version = lock.packages[''].version = lock.packages.clients.version = version)
// The document reads the first of them.
run('npm', 'run', 'openapi')
const today = new Date().toISOString().slice(0, 10)
writeFileSync('CHANGELOG.md', changes.replace(heading, `${heading}\n## [${version}] - ${today}\n`))
writeFileSync(
  'supabase/released.sha256',
  `# ${version}, ${today}\n${run('sh', '-c', 'sha256sum supabase/migrations/*')}`,
)

console.log(`Version ${version} is in ${run('git', 'diff', '--name-only').trim().split('\n').join(', ')} and
freezes the migrations that supabase/released.sha256 lists. If .ci/run passes:
  git add --all && git commit -m 'Release ${version}'
  git tag -a v${version} -m 'Release ${version}' && git push --follow-tags`)
