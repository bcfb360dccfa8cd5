import { readdirSync, readFileSync } from 'node:fs'

const types = readFileSync(new URL('../../functions/_shared/database.types.ts', import.meta.url), 'utf8')

/** A column to write, and one that may not be null: a row without it is never stored. */
const columnsOf = (columns) => {
  const others = columns.filter(({ name }) => name !== 'id')
  const required = others.find(({ nullable }) => !nullable)
  return { column: (required ?? others[0] ?? columns[0]).name, required: required?.name }
}

/** The tables that the migrations create in `public`, from the generated types. */
export const knownTables = [...types.matchAll(/^ {6}'?(\w+)'?: \{\n {8}Row: \{\n([^]*?)^ {8}\}/gm)].map(
  ([, name, row]) => {
    const columns = [...row.matchAll(/^ {10}'?(\w+)'?: (.*)$/gm)]
      .map(([, name, type]) => ({ name, nullable: /\bnull\b/.test(type) }))
    return { name, ...columnsOf(columns) }
  },
)

/** What the Data API exposes, from its OpenAPI document. */
export const exposedTables = ({ definitions }) =>
  Object.entries(definitions ?? {}).map(([name, { properties = {}, required = [] }]) => ({
    name,
    ...columnsOf(Object.keys(properties).map((name) => ({ name, nullable: !required.includes(name) }))),
  }))

const folder = new URL('../../supabase/migrations/', import.meta.url)
const migrations = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8')).join('\n')

/** The functions that the Edge Functions call, by name. */
export const knownFunctions = [
  ...new Set([...migrations.matchAll(/^create (?:or replace )?function api\.(\w+)/gm)].map(([, name]) => name)),
]

/** What the Data API lists of functions, with the names of their parameters. */
export const exposedFunctions = ({ paths }) =>
  Object.entries(paths ?? {}).filter(([path]) => path.startsWith('/rpc/')).map(([path, { get, post }]) => ({
    name: path.slice('/rpc/'.length),
    parameters: get
      ? (get.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name)
      : Object.keys(post?.parameters?.find((parameter) => parameter.in === 'body')?.schema?.properties ?? {}),
  }))
