import postgres from 'postgres'
import { afterAll } from 'vitest'
import { copyDatabase } from './postgres.ts'
import { platform } from './supabase.ts'

/** A copy of the migrated database for this file, after these scripts, with connections that end with the file. */
export const useCopy = async (name: string, ...scripts: string[]) => {
  await copyDatabase(name, ...scripts)
  const open: postgres.Sql[] = []
  const connect = (role?: string): postgres.Sql => {
    const sql = postgres(platform(name, role), { max: 1, onnotice: () => {} })
    open.push(sql)
    return sql
  }
  afterAll(() => Promise.all(open.map((sql) => sql.end({ timeout: 1 }))))
  return { url: (role?: string): string => platform(name, role), connect, owner: connect() }
}
