import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

const isVersion = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The bytes of files. Each is a version with a name of our own, so no path of a caller is one on the disk. `open` is
 * replaced by the test of a full disk.
 */
export const openFiles = async (folder: string, open = fs.open) => {
  const incoming = join(folder, 'incoming')
  await fs.mkdir(incoming, { recursive: true, mode: 0o700 })
  // Uploads that were interrupted.
  for (const name of await fs.readdir(incoming)) await fs.rm(join(incoming, name))

  const pathOf = (version: string): string => {
    if (!isVersion.test(version)) throw new Error('Not a version of a file')
    return join(folder, version)
  }
  /** Makes the new name survive a loss of power. */
  const syncFolder = async () => {
    const handle = await fs.open(folder)
    await handle.sync().finally(() => handle.close())
  }
  const remove = async (versions: string[]): Promise<void> => {
    for (const version of versions) await fs.rm(pathOf(version), { force: true })
  }

  return {
    /** Stores what arrives, or nothing at all: beside the others, until it is whole and on the disk. */
    async write(body: AsyncIterable<Uint8Array>, max: number, tooLarge: () => Error) {
      const version = randomUUID()
      const path = join(incoming, version)
      const hash = createHash('md5')
      let size = 0
      try {
        const file = await open(path, 'wx', 0o600)
        try {
          for await (const chunk of body) {
            size += chunk.byteLength
            if (size > max) throw tooLarge()
            hash.update(chunk)
            await file.writeFile(chunk)
          }
          await file.sync()
        } finally {
          await file.close()
        }
        await fs.rename(path, pathOf(version))
        await syncFolder()
      } catch (error) {
        await fs.rm(path, { force: true })
        throw error
      }
      // As S3's: the MD5 of the content, in quotes.
      return { version, size, eTag: `"${hash.digest('hex')}"` }
    },
    /** The bytes from `start` to `end`, both inclusive; null if they are missing. */
    async read(version: string, start: number, end: number) {
      const path = pathOf(version)
      if (!await fs.stat(path).catch(() => null)) return null
      if (end < start) return new Blob([]).stream()
      return Readable.toWeb(createReadStream(path, { start, end })) as unknown as ReadableStream<Uint8Array>
    },
    remove,
    /** Removes what an interrupted upload or removal has left: files that no row names. */
    async sweep(isKnown: (version: string) => boolean) {
      const orphans = (await fs.readdir(folder)).filter((name) => isVersion.test(name) && !isKnown(name))
      await remove(orphans)
      return orphans.length
    },
  }
}
export type Files = Awaited<ReturnType<typeof openFiles>>
