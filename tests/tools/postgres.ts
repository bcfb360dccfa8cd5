import { randomUUID } from 'node:crypto'
import postgres from 'postgres'

/** The Postgres that the run has to itself; its tests make databases there. */
const server = new URL(process.env.TEST_DATABASE_URL ?? 'postgresql://none')

/** Works on a connection of its own. */
export const connected = async <Result>(url: string, work: (sql: postgres.Sql) => Promise<Result>): Promise<Result> => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await work(sql)
  } finally {
    await sql.end()
  }
}

/** An empty database; its address. */
export const makeDatabase = async (name: string): Promise<string> => {
  const database = `${name}_${randomUUID().slice(0, 8)}`
  await connected(server.href, (sql) => sql.unsafe(`create database ${database}`))
  return new URL(`/${database}`, server).href
}
