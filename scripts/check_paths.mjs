// Checks that links within Markdown lead somewhere, and that the files that pages name exist.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n').filter(existsSync)
const anchorsOf = (markdown) =>
  [...markdown.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
  )

for (const file of files.filter((name) => name.endsWith('.md'))) {
  const fault = (text) => {
    console.error(`${file}: ${text}`)
    process.exitCode = 1
  }
  const text = readFileSync(file, 'utf8')
  for (const [, path] of text.matchAll(/`((?:scripts|functions|supabase|clients|sql)\/[\w/.-]+\.\w+)`/g)) {
    if (!existsSync(path)) fault(`there is no ${path}`)
  }
  for (const [, target] of text.matchAll(/\]\((?![a-z]+:)([^()\s]+)\)/g)) {
    const [path, anchor] = target.split('#')
    const page = path ? join(dirname(file), path) : file
    if (!existsSync(page)) fault(`${target} leads nowhere`)
    else if (anchor && !anchorsOf(readFileSync(page, 'utf8')).includes(anchor)) fault(`no heading ${target}`)
  }
}
