/** A database for pgTAP with the migrations and fixtures.sql: on PGlite, or on the Postgres of DATABASE_URL. */
import { type Database, openPglite, openPostgres } from '../../supabase/local/database.ts'
import { openPlatform } from '../../supabase/local/platform.ts'
import { readSettings } from '../../supabase/local/settings.ts'

const here = new URL('./', import.meta.url)
export const read = (path: string): string => Deno.readTextFileSync(new URL(path, here))

export const files = [...Deno.readDirSync(here)]
  .filter((entry) => entry.isDirectory)
  .flatMap((noun) => [...Deno.readDirSync(new URL(`${noun.name}/`, here))].map((file) => `${noun.name}/${file.name}`))
  .filter((file) => file.endsWith('.test.sql'))
  .sort()

export const openTestDatabase = async (): Promise<Database> => {
  const settings = readSettings({ ...Deno.env.toObject(), DATA_DIR: 'memory', SEED: 'none' })
  const database = settings.databaseUrl ? await openPostgres(settings.databaseUrl) : await openPglite(null)
  const keys = { jwtSecret: 'x'.repeat(32), publishableKey: 'sb_publishable_x', secretKey: 'sb_secret_x' }
  await openPlatform(database, keys, settings)
  await database.run(
    `create schema if not exists tap; create extension if not exists pgtap with schema tap; ${read('fixtures.sql')}`,
  )
  return database
}

/** Runs a file after the statement `begin` and returns its TAP lines; the rows of other statements are dropped. */
export const runFile = async (database: Database, begin: string, file: string): Promise<string[]> => {
  try {
    const results = await database.run(
      `${begin}; set local search_path = tap, public; ${read(file)}; select * from finish();`,
    )
    return results.flatMap((row) => row.split('\n')).filter((line) => /^(not )?ok |^1\.\.|^#|^\s*#/.test(line))
  } catch (error) {
    return [`not ok - the file runs to its end: ${(error as Error).message}`]
  }
}
