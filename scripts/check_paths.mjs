// Checks that the files exist which pages link to or name.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const pages = execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n').filter(existsSync)
for (const page of pages) {
  const text = readFileSync(page, 'utf8')
  const named = [...text.matchAll(/`((?:scripts|functions|supabase|clients|sql)\/[\w/.-]+\.\w+)`/g)]
  const linked = [...text.matchAll(/\]\((?![a-z]+:)([^()\s#]+)/g)]
  const paths = [...named.map(([, path]) => path), ...linked.map(([, path]) => join(dirname(page), path))]
  for (const path of paths.filter((path) => !existsSync(path))) {
    console.error(`${page}: there is no ${path}`)
    process.exitCode = 1
  }
}
