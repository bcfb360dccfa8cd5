// Checks that the files named in Markdown and in comments exist, and that links within Markdown lead somewhere.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .trim().split('\n').filter((file) => existsSync(file))
const paths = new Set(listed.flatMap((file) => file.split('/').map((_, n, parts) => parts.slice(0, n + 1).join('/'))))
const names = new Set(listed.map((file) => basename(file)))
// Pages name tests and folders of the schema by their own folders.
const roots = new Set(
  listed.map((file) => file.replace(/^(tests|sql\/schema)\//, '')).concat(listed)
    .filter((file) => file.includes('/')).map((file) => file.split('/')[0]),
)

/** Code names files from the root, a room of the schema, or without the ending that its kind has. */
const exists = (path) =>
  ['', 'sql/schema/', 'tests/', 'supabase/'].some((folder) =>
    ['', '.ts', '.test.ts', '.rules.ts', '.checks.ts', '.test.sql', '.mjs'].some((ending) =>
      paths.has(folder + path + ending)
    )
  )

/** a/{b,c}.ts names two files. */
const expand = (path) => {
  const braces = /^(.*?)\{([^{}]*)\}(.*)$/.exec(path)
  return braces ? braces[2].split(',').flatMap((part) => expand(braces[1] + part.trim() + braces[3])) : [path]
}

/** A path begins with a folder of the repository and stands for no pattern, URL or command. */
const isPath = (text) => /^[.\w]+(?:\/[\w.{},-]+)+\/?$/.test(text) && roots.has(text.split('/')[0])

/** A file that is named without its folder. `hello.mjs` is the reader's own. */
const isName = (text) => /^[\w-]+(?:\.test)?\.(?:ts|sql|mjs|sh)$/.test(text) && text !== 'hello.mjs'

const anchorsOf = (markdown) =>
  new Set(
    [...markdown.replaceAll(/^```[^]*?^```/gm, '').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-')
    ),
  )

const faults = []
for (
  const file of listed.filter((name) => /\.(md|ts|mjs|js|sql|sh)$/.test(name) && !/^supabase\/migrations\//.test(name))
) {
  const text = readFileSync(file, 'utf8')
  const isMarkdown = file.endsWith('.md')
  const named = isMarkdown
    ? [...text.matchAll(/`([^`\n]+)`/g)].map(([, path]) => path)
    : [...text.matchAll(/^\s*(?:\*|\/\/|\/\*\*|--|#)(.*)$/gm)].flatMap(([, comment]) =>
      comment.split(/[\s()`'",;:]+/).filter((word) => /\.[a-z]+$/.test(word))
    )
  for (const path of named.filter(isPath).flatMap(expand)) {
    if (!exists(path.replace(/\/$/, ''))) faults.push(`${file}: ${path} does not exist`)
  }
  for (const name of named.filter(isName)) if (!names.has(name)) faults.push(`${file}: there is no ${name}`)
  if (!isMarkdown) continue
  for (const [, target] of text.matchAll(/\]\(([^()\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const [path, anchor] = target.split('#')
    const page = path ? join(dirname(file), path) : file
    if (!paths.has(page.replace(/\/$/, ''))) faults.push(`${file}: ${target} leads nowhere`)
    else if (anchor && !anchorsOf(readFileSync(page, 'utf8')).has(anchor)) faults.push(`${file}: no heading ${target}`)
  }
}
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
