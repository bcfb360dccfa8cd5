import { randomUUID } from 'node:crypto'
import postgres from 'postgres'

/** The Postgres server of the run. */
const server = new URL(process.env.TEST_DATABASE_URL ?? 'postgresql://none')

/** Opens a connection for this work and closes it. */
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
