import { existsSync, rmSync } from 'node:fs'
import { CannotStart, type Keys } from './settings.ts'

const random = (bytes: number): string =>
  crypto.getRandomValues(new Uint8Array(bytes)).toBase64({ alphabet: 'base64url', omitPadding: true })

const makeKeys = (): Keys => ({
  jwtSecret: random(32),
  publishableKey: `sb_publishable_${random(16)}`,
  secretKey: `sb_secret_${random(16)}`,
})

/** Makes the folder ours alone until the process ends, however it ends: the kernel lets go of the lock. */
const claim = (dataDir: string): void => {
  Deno.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const lock = Deno.openSync(`${dataDir}/lock`, { create: true, write: true })
  if (!lock.tryLockSync(true)) {
    throw new CannotStart(`DATA_DIR ${dataDir} is in use by another server; stop that one or choose another folder`)
  }
}

const keepKeys = (dataDir: string, given: Partial<Keys>): Keys => {
  const file = `${dataDir}/keys.json`
  let kept: Keys
  try {
    kept = JSON.parse(Deno.readTextFileSync(file))
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error
    kept = { ...makeKeys(), ...given }
    // Written whole or not at all, so that a crash leaves no half of a key behind.
    Deno.writeTextFileSync(`${file}.new`, JSON.stringify(kept, null, 2), { mode: 0o600 })
    Deno.renameSync(`${file}.new`, file)
  }
  const whole = kept?.jwtSecret?.length >= 32 && kept.publishableKey?.startsWith('sb_publishable_') &&
    kept.secretKey?.startsWith('sb_secret_')
  if (!whole) throw new CannotStart(`${file} does not hold the project's keys; restore it, or remove it for new ones`)
  return { ...kept, ...given }
}

/**
 * Where PGlite keeps its files. While the folder is being made a mark stands beside it; one whose making was cut off, which holds nothing that
 * anybody was promised, is made anew. `made` says that it is whole.
 */
export const databaseFolder = (dataDir: string): { folder: string; made: () => void } => {
  const folder = `${dataDir}/postgres`
  const mark = `${dataDir}/postgres.making`
  if (existsSync(mark)) rmSync(folder, { recursive: true, force: true })
  if (!existsSync(folder)) Deno.writeTextFileSync(mark, '')
  // Most of its files everybody may read and write, as PGlite unpacks them, and a DATA_DIR that was there before may be open to everybody.
  Deno.mkdirSync(folder, { recursive: true })
  Deno.chmodSync(folder, 0o700)
  return { folder, made: () => rmSync(mark, { force: true }) }
}

/** Takes hold of the folder and answers with the project's keys: those given, those kept there, or new ones. */
export const openDataDir = (dataDir: string | null, given: Partial<Keys>): Keys => {
  if (dataDir === null) return { ...makeKeys(), ...given }
  try {
    claim(dataDir)
    return keepKeys(dataDir, given)
  } catch (error) {
    if (error instanceof CannotStart) throw error
    throw new CannotStart(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`)
  }
}
