import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { platform } from './supabase.ts'

const server = new URL(process.env.TEST_DATABASE_URL || 'postgresql://none')

export const connected = async <Result>(url: string, work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

/** Creates an empty database and returns its URL. */
export const makeDatabase = async (name: string): Promise<string> => {
  const database = `${name}_${randomUUID().slice(0, 8)}`
  await connected(server.href, (sql) => sql.unsafe(`create database ${database}`))
  return new URL(`/${database}`, server).href
}

/** Makes a copy of the migrated database (tests/postgres/build.ts), and runs these scripts in it. */
export const copyDatabase = async (name: string, ...scripts: string[]): Promise<void> => {
  const copy = `create database ${name} template migrated owner postgres`
  await connected(platform('postgres', 'supabase_admin'), (sql) => sql.unsafe(copy))
  await connected(platform(name, 'supabase_admin'), async (sql) => {
    for (const script of scripts) await sql.unsafe(script)
  })
}
