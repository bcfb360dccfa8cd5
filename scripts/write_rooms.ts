/**
 * Writes the picture of the rooms of sql/schema into docs/architecture.md: which room uses the functions and tables of
 * which other, and whose triggers follow whose tables. `--check` only compares.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

const schema = new URL('../sql/schema/', import.meta.url)
const page = new URL('../docs/architecture.md', import.meta.url)
const [start, end] = ['<!-- rooms -->\n', '<!-- /rooms -->\n']

/** All rooms use the first two, and the last uses all. */
const leftOut = ['foundation', 'people', 'operations']

const rooms = readdirSync(schema).toSorted().map((folder) => ({
  name: folder.replace(/^\d+_/, ''),
  text: readdirSync(new URL(`${folder}/`, schema)).toSorted()
    .map((file) => readFileSync(new URL(`${folder}/${file}`, schema), 'utf8')).join('\n')
    // Neither comments nor what the database says about an object calls anything.
    .replaceAll(/--.*$/gm, '').replaceAll(/^comment on [^]*?';$/gm, ''),
}))

/** The room that creates each table and function. */
const homes = new Map(
  rooms.flatMap(({ name, text }) =>
    [...text.matchAll(/^create (?:unlogged )?(?:table|function|view) (\w+\.\w+)/gm)].map(([, object]) =>
      [object!, name] as const
    )
  ),
)

/** `from` to `to`, with what is used. */
const links = (matches: (text: string) => Iterable<RegExpMatchArray>): Map<string, Set<string>> => {
  const found = new Map<string, Set<string>>()
  for (const { name, text } of rooms) {
    for (const [, object] of matches(text)) {
      const home = homes.get(object!)
      if (!home || home === name || leftOut.includes(home) || leftOut.includes(name)) continue
      const key = `${name} ${home}`
      found.set(key, (found.get(key) ?? new Set()).add(object!))
    }
  }
  return found
}

/** Functions that are called, and tables that are read or written: foreign keys are in docs/data-model.md. */
const uses = links((text) =>
  text.replaceAll(/^create (?:constraint )?trigger [^;]*?\bon \w+\.\w+|\breferences \w+\.\w+/gm, '')
    .matchAll(/\b((?:private|api|public)\.\w+)\b/g)
)
const triggers = links((text) => text.matchAll(/^create (?:constraint )?trigger [^;]*?\bon (\w+\.\w+)/gm))

const diagram = [
  '```mermaid',
  'flowchart LR',
  ...rooms.filter(({ name }) => !leftOut.includes(name)).map(({ name }) => `  ${name}`),
  ...[...uses].map(([key, objects]) => {
    const [from, to] = key.split(' ')
    return `  ${from} -->|${objects.size}| ${to}`
  }),
  ...[...triggers.keys()].map((key) => {
    const [from, to] = key.split(' ')
    return `  ${to} -.-> ${from}`
  }),
  '```',
  '',
].join('\n')

const before = readFileSync(page, 'utf8')
const from = before.indexOf(start)
const to = before.indexOf(end)
if (from < 0 || to < from) throw new Error('docs/architecture.md has lost its marks of the picture of the rooms')
const after = `${before.slice(0, from)}${start}\n${diagram}\n${before.slice(to)}`
if (!process.argv.includes('--check')) writeFileSync(page, after)
else if (after !== before) {
  console.error('docs/architecture.md: the picture of the rooms is out of date; run npm run rooms')
  process.exit(1)
}
