import { randomBytes } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { CannotStart } from './cannot_start.ts'
import type { Keys } from './settings.ts'

export const random = (bytes: number): string => randomBytes(bytes).toString('base64url')

const makeKeys = (): Keys => ({
  jwtSecret: random(32),
  publishableKey: `sb_publishable_${random(16)}`,
  secretKey: `sb_secret_${random(16)}`,
})

/** Locks the folder until the process ends; the kernel releases the lock, also after a crash. */
const lockFolder = (dataDir: string): void => {
  Deno.mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const lock = Deno.openSync(`${dataDir}/lock`, { create: true, write: true })
  if (!lock.tryLockSync(true)) {
    throw new CannotStart(`DATA_DIR ${dataDir} is in use by another server; stop that one or choose another folder`)
  }
}

/** What a file of the folder holds; on the first start what `make` makes. */
export const readOrMake = async <Content>(
  file: string,
  make: () => Content | Promise<Content>,
  isValid: (content: Content) => boolean,
  what: string,
): Promise<Content> => {
  let content: Content | null = null
  try {
    content = JSON.parse(Deno.readTextFileSync(file))
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      content = await make()
      // Write atomically, so that a crash leaves no partial file.
      Deno.writeTextFileSync(`${file}.new`, JSON.stringify(content, null, 2), { mode: 0o600 })
      Deno.renameSync(`${file}.new`, file)
    } else if (!(error instanceof SyntaxError)) throw error
  }
  if (content && isValid(content)) return content
  throw new CannotStart(`${file} does not hold the ${what}; restore it, or remove it for new ones`)
}

const isKeys = (keys: Keys): boolean =>
  keys.jwtSecret?.length >= 32 && keys.publishableKey?.startsWith('sb_publishable_') &&
  keys.secretKey?.startsWith('sb_secret_')

/**
 * The folder of PGlite's files. While initdb runs a marker file exists beside it, and `initialized` removes that. A
 * folder with a marker is deleted at the next start: its initdb was interrupted, so it holds no data.
 */
export const databaseFolder = (dataDir: string): { folder: string; isNew: boolean; initialized: () => void } => {
  const folder = `${dataDir}/postgres`
  const marker = `${dataDir}/postgres.making`
  if (existsSync(marker)) rmSync(folder, { recursive: true, force: true })
  const isNew = !existsSync(folder)
  if (isNew) Deno.writeTextFileSync(marker, '')
  // PGlite makes most of its files world-writable, and an existing DATA_DIR may be open to everybody.
  Deno.mkdirSync(folder, { recursive: true })
  Deno.chmodSync(folder, 0o700)
  return { folder, isNew, initialized: () => rmSync(marker, { force: true }) }
}

/** Locks the folder and returns the project's keys: each as configured, else as stored there, else new. */
export const openDataDir = async (dataDir: string | null, configured: Partial<Keys>): Promise<Keys> => {
  const make = () => ({ ...makeKeys(), ...configured })
  if (dataDir === null) return make()
  try {
    lockFolder(dataDir)
    return { ...await readOrMake(`${dataDir}/keys.json`, make, isKeys, "project's keys"), ...configured }
  } catch (error) {
    if (error instanceof CannotStart) throw error
    throw new CannotStart(`DATA_DIR ${dataDir} cannot be used: ${(error as Error).message}`)
  }
}
