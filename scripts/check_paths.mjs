// Checks that the files named in Markdown and in comments exist, and that links within Markdown lead somewhere.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .trim().split('\n').filter((file) => existsSync(file))
const all = files.map((file) => `/${file}/\n`).join('')
/** Code names files from any folder, and without the ending that their kind has. */
const exists = (path) => all.includes(`/${path.replace(/\/$/, '')}/`) || all.includes(`/${path}.`)

// Pages name tests and folders of the schema by their own folders.
const roots = new Set(
  files.flatMap((file) => [file, file.replace(/^(tests|sql\/schema)\//, '')])
    .filter((file) => file.includes('/')).map((file) => file.split('/')[0]),
)
/** A path begins with a folder of the repository, or is a file's name. `hello.mjs` is the reader's own. */
const isPath = (text) =>
  /^[.\w]+(\/[\w.-]+)+\/?$/.test(text) && roots.has(text.split('/')[0]) ||
  /^[\w-]+(\.test)?\.(ts|sql|mjs|sh)$/.test(text) && text !== 'hello.mjs'

const anchorsOf = (markdown) =>
  [...markdown.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
  )

for (const file of files.filter((name) => /\.(md|ts|mjs|js|sql|sh)$/.test(name) && !/^supabase\/migr/.test(name))) {
  const fault = (text) => {
    console.error(`${file}: ${text}`)
    process.exitCode = 1
  }
  const text = readFileSync(file, 'utf8')
  const isMarkdown = file.endsWith('.md')
  const named = isMarkdown
    ? [...text.matchAll(/`([^`\n]+)`/g)].map(([, path]) => path)
    : [...text.matchAll(/^\s*(?:\*|\/\/|\/\*\*|--|#)(.*)$/gm)].flatMap(([, comment]) =>
      comment.split(/[\s()`'",;:]+/).filter((word) => /\.[a-z]+$/.test(word))
    )
  for (const path of named.filter(isPath)) if (!exists(path)) fault(`there is no ${path}`)
  for (const [, target] of isMarkdown ? text.matchAll(/\]\((?![a-z]+:)([^()\s]+)\)/g) : []) {
    const [path, anchor] = target.split('#')
    const page = path ? join(dirname(file), path) : file
    if (!existsSync(page)) fault(`${target} leads nowhere`)
    else if (anchor && !anchorsOf(readFileSync(page, 'utf8')).includes(anchor)) fault(`no heading ${target}`)
  }
}
