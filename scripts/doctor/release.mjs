/** What this folder would deploy, which the project is compared with. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const read = (path) => readFileSync(new URL(path, root), 'utf8')
const list = (path) => readdirSync(new URL(path, root)).sort()

export const edgeFunctions = list('functions').filter((name) => existsSync(new URL(`functions/${name}/index.ts`, root)))

const rows = /^ {6}'?(\w+)'?: \{\n {8}Row: \{\n([^]*?)^ {8}\}/gm
/** The tables in `public`, each with a column to write, and one that may not be null: no row is stored without it. */
export const tables = [...read('functions/_shared/database.types.ts').matchAll(rows)].map(([, name, row]) => {
  const columns = [...row.matchAll(/^ {10}'?(\w+)'?: (.*)$/gm)].filter(([, column]) => column !== 'id')
  const required = columns.find(([, , type]) => !/\bnull\b/.test(type))?.[1]
  return { name, column: required ?? columns[0]?.[1] ?? 'id', required }
})

const files = list('supabase/migrations').filter((file) => /^\d+_.*\.sql$/.test(file))
const texts = files.map((file) => read(`supabase/migrations/${file}`))

/** The functions in `public`, by name, with the parameters that a call needs. */
export const functions = Object.fromEntries(
  texts.flatMap((text) => [...text.matchAll(/^create (?:or replace )?function public\.(\w+)\((.*)\)/gm)])
    .map(([, name, parameters]) => [name, parameters.match(/(?<=^|, )\w+(?= \w+(,|$))/g) ?? []]),
)

const hash = (text) => createHash('sha256').update(text.replace(/[ \t\r\n;]+/g, '')).digest('hex')
/** Each migration's version with the hash of its text, as private.list_migrations computes it. */
export const migrations = new Map(files.map((file, i) => [file.split('_')[0], hash(texts[i])]))

/** The MD5 of each file of sql/data, as private.load_places notes it. */
export const data = new Map([['places', createHash('md5').update(read('sql/data/places.tsv')).digest('hex')]])
