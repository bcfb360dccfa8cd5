import { readFileSync } from 'node:fs'

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
