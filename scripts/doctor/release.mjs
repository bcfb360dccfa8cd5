/** What this folder would deploy, which the project is compared with. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const root = new URL('../../', import.meta.url)
const read = (path) => readFileSync(new URL(path, root), 'utf8')
const list = (path) => readdirSync(new URL(path, root)).sort()
const hash = (algorithm, text) => createHash(algorithm).update(text).digest('hex')

export const edgeFunctions = list('functions').filter((name) => existsSync(new URL(`functions/${name}/index.ts`, root)))

/** The tables and views that nobody may read without a token. Everybody may read interests. */
export const tables = [...read('functions/_shared/database.types.ts').matchAll(/^ {6}(\w+): \{\n {8}Row: /gm)]
  .map(([, name]) => name).filter((name) => name !== 'interests')

/** Each migration's version with the hash of its text, as private.describe_service computes it. */
export const migrations = new Map(
  list('supabase/migrations').filter((file) => /^\d+_.*\.sql$/.test(file)).map((file) => [
    file.split('_')[0],
    hash('sha256', read(`supabase/migrations/${file}`).replace(/[ \t\r\n;]+/g, '')),
  ]),
)

/** The MD5 of the places, as private.load_places notes it. */
export const places = hash('md5', read('sql/data/places.tsv'))
