// A released migration keeps its bytes, since `db push` never applies it again; a newer one comes behind them all, or
// `db push` would refuse it.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const root = new URL('../', import.meta.url)
const read = (path) => existsSync(new URL(path, root)) ? readFileSync(new URL(path, root), 'utf8') : ''

const released = [...read('supabase/released.sha256').matchAll(/^(\w{64}) {2}(\S+)$/gm)]
const changed = released.filter(([, hash, path]) => createHash('sha256').update(read(path)).digest('hex') !== hash)
const present = readdirSync(new URL('supabase/migrations', root)).sort().map((name) => `supabase/migrations/${name}`)
const early = present.slice(0, released.length).filter((path, i) => path !== released[i][2])

const faults = [
  ...(released.length === 0 ? ['supabase/released.sha256 lists no migration'] : []),
  ...changed.map(([, , path]) => `${path} is released, and has changed: add a migration (CONTRIBUTING.md)`),
  ...early.map((path) => `${path} is not released, and older than one that is: rename it`),
]
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0
