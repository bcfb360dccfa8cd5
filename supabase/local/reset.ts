import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { CannotStart } from './cannot_start.ts'
import { openDataDir } from './data_dir.ts'
import { readSettings } from './settings.ts'

/** Moves the database and the files away, so that the next start makes the demo world anew. The keys stay. */
const reset = async (): Promise<void> => {
  const { dataDir, databaseUrl, seed, keys } = readSettings(Deno.env.toObject())
  if (databaseUrl) throw new CannotStart('DATABASE_URL is set; npm run demo:reset resets only a folder, DATA_DIR')
  if (seed !== 'demo') throw new CannotStart('SEED is none, so there is no demo world to reset')
  if (dataDir === null || !existsSync(`${dataDir}/keys.json`)) {
    throw new CannotStart(`DATA_DIR ${dataDir ?? 'memory'} holds no project; npm start makes one`)
  }
  // Refuses the folder of a stack that runs.
  await openDataDir(dataDir, keys)
  const before = `${dataDir}/before-reset`
  rmSync(before, { recursive: true, force: true })
  mkdirSync(before, { mode: 0o700 })
  for (const name of ['postgres', 'postgres.making', 'storage']) {
    if (existsSync(`${dataDir}/${name}`)) renameSync(`${dataDir}/${name}`, `${before}/${name}`)
  }
  console.log(`npm start makes the demo world anew. What was there until the next reset: ${before}`)
}

try {
  await reset()
} catch (error) {
  if (!(error instanceof CannotStart)) throw error
  console.error(error.message)
  Deno.exit(1)
}
