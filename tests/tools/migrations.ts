import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** Each migration of this folder with its hash, as private.list_migrations should have it. */
export const migrationHashes = (): { version: string; sha256: string }[] =>
  readdirSync('supabase/migrations').sort().map((file) => {
    const text = readFileSync(`supabase/migrations/${file}`, 'utf8').replaceAll(/[ \n;]/g, '')
    return { version: file.slice(0, 14), sha256: createHash('sha256').update(text).digest('hex') }
  })
