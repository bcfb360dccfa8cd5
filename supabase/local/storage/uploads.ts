import { randomUUID } from 'node:crypto'
import { type Incoming, isForm, readUpload } from './body.ts'
import { refusals } from './errors.ts'
import { type Claims, insertObject, upsertObject } from './rows.ts'
import type { Store } from './store.ts'

/** As on the platform, for buckets without a limit. */
const maxFileSize = 52_428_800
const maxUploads = 50
/** Of one account, which could otherwise keep everybody from uploading by fifty slow ones. */
const maxUploadsEach = 10
/** Beyond these a place is for an account that has no upload under way: five could take all fifty otherwise. */
const maxSharedUploads = 25

/** The names that Storage takes, and lists and removes again. */
export const validKey = /^(?!.*(^|\/)(\.\.?)?(\/|$))[\w/!.*'() &$=@;:+,?-]{1,1024}$/

const isAllowed = (type: string, allowed: string[] | null): boolean =>
  !allowed?.length || allowed.some((one) => one === type || one === `${type.split('/')[0]}/*`)

interface Target {
  bucket: string
  name: string
  claims: Claims
  operation: string
  isUpsert: boolean
}

/** Stores files that arrive, under the rights of whoever sends them. */
export const openUploads = ({ files, rows, findBucket, removeBytes }: Store) => {
  /** The owners of the uploads under way. */
  const uploading: (string | undefined)[] = []
  const write = (
    run: typeof rows.run,
    { bucket, name, claims, operation, isUpsert }: Target,
    more: { version: string; metadata: object },
  ) => {
    const values = { id: randomUUID(), bucket, name, owner: claims.sub, ...more }
    return run(claims, operation, isUpsert ? upsertObject : insertObject, values)
  }

  /** Stores a file that may be stored, and its row. */
  const store = async (incoming: Incoming, target: Target, max: number): Promise<string> => {
    const { version, size, eTag } = await files.write(incoming.body, max, refusals.tooLarge)
    const { type: mimetype, cacheControl } = incoming
    const lastModified = new Date().toISOString()
    const metadata = { eTag, size, mimetype, cacheControl, lastModified, contentLength: size, httpStatusCode: 200 }
    const [written] = await write(rows.run, target, { version, metadata }).catch(async (error) => {
      await removeBytes([version])
      throw error
    })
    await removeBytes([written!.replaced])
    return written!.id
  }

  /**
   * Stores what a request brings: asks for rights before the body is read, as Storage does, and again with the row, so
   * that what has changed in between counts.
   */
  const upload = async (request: Request, target: Target): Promise<string> => {
    const { file_size_limit, allowed_mime_types } = await findBucket(target.bucket)
    const max = Math.min(Number(file_size_limit ?? maxFileSize), maxFileSize)
    const check = ({ type }: Pick<Incoming, 'type'>) => {
      if (!isAllowed(type, allowed_mime_types as string[] | null)) throw refusals.wrongType(type)
    }
    const owner = target.claims.sub as string | undefined
    const own = owner ? uploading.filter((one) => one === owner) : []
    const allowed = own.length === 0 ? maxUploads : maxSharedUploads
    if (uploading.length >= allowed || own.length >= maxUploadsEach) throw refusals.busy()
    uploading.push(owner)
    try {
      // Nothing of a body without a form is read here.
      const declared = isForm(request) ? null : await readUpload(request, max)
      if (declared) check(declared)
      if (!validKey.test(target.name)) throw refusals.invalidKey(target.name)
      await write(rows.rehearse, target, { version: '1', metadata: { mimetype: declared?.type } })
      const incoming = declared ?? await readUpload(request, max)
      check(incoming)
      return await store(incoming, target, max)
    } finally {
      uploading.splice(uploading.indexOf(owner), 1)
    }
  }
  return { store, upload }
}
