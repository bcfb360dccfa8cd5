import { randomUUID } from 'node:crypto'
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import { bearerToken } from '../../../functions/_shared/token.ts'
import { BodyError, readBody } from '../body.ts'
import { type Database, retryOnConflict } from '../database.ts'
import { identifyWith } from '../realtime/identity.ts'
import type { Keys, Settings } from '../settings.ts'
import { type Incoming, isForm, readUpload } from './body.ts'
import { sendFile } from './download.ts'
import { refusalOf, refusals } from './errors.ts'
import { openFiles } from './files.ts'
import * as sql from './rows.ts'
import { type Claims, openRows, type Row, service } from './rows.ts'
import { openSignatures } from './signatures.ts'

export interface Storage {
  routes: Hono
  close: () => void
}

/** As on the platform, for buckets without a limit. */
const maxFileSize = 52_428_800
const maxUploads = 50
/** Of one account, which could otherwise keep everybody from uploading by fifty slow ones. */
const maxUploadsEach = 10
/** Beyond these a place is for an account that has no upload under way: five could take all fifty otherwise. */
const maxSharedUploads = 25

/** The names that Storage takes, and lists and removes again. */
const validKey = /^(?!.*(^|\/)(\.\.?)?(\/|$))[\w/!.*'() &$=@;:+,?-]{1,1024}$/

const isAllowed = (type: string, allowed: string[] | null): boolean =>
  !allowed?.length || allowed.some((one) => one === type || one === `${type.split('/')[0]}/*`)

const path = z.string().max(1024)
const seconds = z.int().min(1).max(1_000_000_000)
const inputs = {
  sign: z.object({ expiresIn: seconds, transform: z.record(z.string(), z.unknown()).optional() }),
  signMany: z.object({ expiresIn: seconds, paths: z.array(path).min(1).max(1000) }),
  remove: z.object({ prefixes: z.array(path).min(1).max(1000) }),
  move: z.object({ bucketId: path, sourceKey: path, destinationKey: path, destinationBucket: path.optional() }),
  list: z.object({
    prefix: path,
    search: path.default(''),
    limit: z.int().min(1).transform((limit) => Math.min(limit, 1500)).default(100),
    offset: z.int().min(0).default(0),
    sortBy: z.object({
      column: z.enum(['name', 'updated_at', 'created_at', 'last_accessed_at']).default('name'),
      order: z.enum(['asc', 'desc']).default('asc'),
    }).default({ column: 'name', order: 'asc' }),
  }),
}

/** The folder of the files, which must be that of one database alone: the sweep removes what its rows do not name. */
const folderOf = async (database: Database, { dataDir, databaseUrl }: Settings): Promise<string> => {
  if (dataDir === null) return await Deno.makeTempDir({ prefix: 'storage-' })
  if (!databaseUrl) return `${dataDir}/storage`
  const [found] = await database.query(
    `select system_identifier || '_' || oid as id
     from pg_control_system(), pg_database
     where datname = current_database()`,
    [],
  )
  return `${dataDir}/storage_${found!.id}`
}

/**
 * The part of Supabase's Storage API that supabase-js uses. Rows are read and written as the caller, under the
 * policies; the bytes lie in a folder.
 */
export const openStorage = async (database: Database, settings: Settings, keys: Keys): Promise<Storage> => {
  await retryOnConflict(() => database.run(Deno.readTextFileSync(new URL('install.sql', import.meta.url))))
  const folder = await folderOf(database, settings)
  const files = await openFiles(folder)
  const known = await database.query('select version from storage.objects', [])
  const versions = new Set(known.map(({ version }) => version))
  const swept = await files.sweep((version) => versions.has(version))
  if (swept) log('info', 'Files without a row were removed', { count: swept })
  const rows = openRows(database)
  const identify = identifyWith(keys)
  const signatures = openSignatures(keys.jwtSecret)
  /** The owners of the uploads under way. */
  const uploading: (string | undefined)[] = []

  /** Who asks; null without a valid token. */
  const callerOf = async (c: Context): Promise<Claims | null> => {
    const token = bearerToken(c.req.header('Authorization')) ?? c.req.header('apikey')
    return token ? await identify(token).then(({ claims }) => claims, () => null) : null
  }
  const caller = async (c: Context): Promise<Claims> => {
    if (!c.req.header('Authorization') && !c.req.header('apikey')) {
      throw refusals.invalidRequest("headers must have required property 'authorization'")
    }
    return await callerOf(c) ?? (() => {
      throw refusals.notAllowed('Invalid token')
    })()
  }
  const read = async <Input>(c: Context, schema: z.ZodType<Input>): Promise<Input> => {
    const bytes = c.req.raw.body ? await readBody(c.req.raw.body) : new Uint8Array()
    try {
      return schema.parse(JSON.parse(new TextDecoder().decode(bytes)))
    } catch (error) {
      const [issue] = error instanceof z.ZodError ? error.issues : []
      throw refusals.invalidRequest(issue ? `body/${issue.path.join('/')} ${issue.message}` : 'The body is not JSON')
    }
  }
  const findBucket = async (bucket: string): Promise<Row> => {
    const [found] = await database.query(
      // As JSON, since Postgres sends arrays and bigints as text, and PGlite does not.
      'select to_jsonb(buckets) as bucket from storage.buckets where id = $1',
      [bucket],
    )
    if (!found) throw refusals.noBucket()
    return found.bucket as Row
  }
  const find = async (claims: Claims, operation: string, bucket: string, name: string): Promise<Row> => {
    const [found] = await rows.run(claims, operation, sql.findObject, { bucket, name })
    if (!found) throw refusals.notFound()
    return found
  }
  const place = (c: Context): { bucket: string; name: string; url: string } => {
    const [bucket, name] = [c.req.param('bucket')!, c.req.param('name')!]
    return { bucket, name, url: `${bucket}/${name}` }
  }
  const removeBytes = (versions: (string | null | undefined)[]) =>
    files.remove(versions.filter((version) => typeof version === 'string')).catch((error) =>
      // The sweep at the next start removes them.
      log('error', 'A removed file is still on the disk', describeError(error))
    )

  interface Target {
    bucket: string
    name: string
    claims: Claims
    owner: string | undefined
    operation: string
    isUpsert: boolean
  }
  const write = (isUpsert: boolean) => isUpsert ? sql.upsertObject : sql.insertObject
  /** Asks the policies; nothing is written. */
  const rehearse = ({ bucket, name, claims, owner, operation, isUpsert }: Target, metadata: object) =>
    rows.rehearse(claims, operation, write(isUpsert), {
      id: randomUUID(),
      bucket,
      name,
      owner,
      version: '1',
      metadata,
      user_metadata: null,
    })
  /** Writes the row of a stored version, or removes that version. */
  const record = async (target: Target, version: string, metadata: object, userMetadata: unknown): Promise<string> => {
    const { bucket, name, claims, owner, operation, isUpsert } = target
    const values = { id: randomUUID(), bucket, name, owner, version, metadata, user_metadata: userMetadata }
    try {
      const [written] = await rows.run(claims, operation, write(isUpsert), values)
      await removeBytes([written!.replaced])
      return written!.id
    } catch (error) {
      await removeBytes([version])
      throw error
    }
  }

  /**
   * Stores a file: asks for rights before the body is read, as Storage does, and again with the row, so that what has
   * changed in between counts.
   */
  const upload = async (request: Request, target: Target): Promise<string> => {
    const { file_size_limit, allowed_mime_types } = await findBucket(target.bucket)
    const max = Math.min(Number(file_size_limit ?? maxFileSize), maxFileSize)
    const check = ({ type }: Pick<Incoming, 'type'>) => {
      if (!isAllowed(type, allowed_mime_types as string[] | null)) throw refusals.wrongType(type)
    }
    const { owner } = target
    const own = owner ? uploading.filter((one) => one === owner) : []
    const allowed = own.length === 0 ? maxUploads : maxSharedUploads
    if (uploading.length >= allowed || own.length >= maxUploadsEach) throw refusals.busy()
    uploading.push(owner)
    try {
      // Nothing of a body without a form is read here.
      const declared = isForm(request) ? null : await readUpload(request, max)
      if (declared) check(declared)
      if (!validKey.test(target.name)) throw refusals.invalidKey(target.name)
      await rehearse(target, { mimetype: declared?.type })
      const incoming = declared ?? await readUpload(request, max)
      check(incoming)
      const { version, size, eTag } = await files.write(incoming.body, max, refusals.tooLarge)
      const { type: mimetype, cacheControl, userMetadata } = incoming
      const lastModified = new Date().toISOString()
      const metadata = { eTag, size, mimetype, cacheControl, lastModified, contentLength: size, httpStatusCode: 200 }
      return await record(target, version, metadata, userMetadata)
    } finally {
      uploading.splice(uploading.indexOf(owner), 1)
    }
  }

  const routes = new Hono()
  routes.onError(async (error, c) => {
    await c.req.raw.body?.cancel().catch(() => {})
    const refusal = refusalOf(error)
    if (refusal) {
      if (refusal.http === 500) log('error', 'Storage failed', describeError(error))
      const response = refusal.response()
      // What is left of the body must not be taken for the next request.
      if (c.req.raw.body) response.headers.set('Connection', 'close')
      return response
    }
    if (error instanceof BodyError) {
      return refusals.invalidRequest(error.message).response(error.status)
    }
    log('error', 'Storage failed', describeError(error))
    return refusals.internal().response()
  })

  // What supabase-js can ask of a project beyond this.
  for (const path of ['/object/copy', '/object/upload/*', '/object/list-v2/*', '/object/info/*', '/upload/*']) {
    routes.all(
      path,
      () => refusals.notHere('Storage has upload, update, download, signed URLs, list, move and remove').response(),
    )
  }

  const sendObject = async (c: Context): Promise<Response> => {
    const { bucket, name } = place(c)
    const claims = await callerOf(c)
    const isPublic = (await findBucket(bucket)).public
    if (!isPublic && !claims) throw refusals.noBucket()
    const row = await find(isPublic ? service : claims!, 'storage.object.get_authenticated', bucket, name)
    return await sendFile(c.req.raw, files, row, { download: c.req.query('download') })
  }
  const publicObject = async (c: Context): Promise<Row> => {
    const { bucket, name } = place(c)
    if (!(await findBucket(bucket)).public) throw refusals.noBucket()
    return await find(service, 'storage.object.get_public', bucket, name)
  }

  routes.get(
    '/object/public/:bucket/:name{.+}',
    async (c) => await sendFile(c.req.raw, files, await publicObject(c), { download: c.req.query('download') }),
  )
  routes.get('/object/authenticated/:bucket/:name{.+}', (c) => sendObject(c))
  routes.get('/object/sign/:bucket/:name{.+}', async (c) => {
    const { bucket, name, url } = place(c)
    const { exp } = await signatures.verify(c.req.query('token'), url)
    const row = await find(service, 'storage.object.get_signed', bucket, name)
    const expires = new Date(exp * 1000)
    return await sendFile(c.req.raw, files, row, { download: c.req.query('download'), expires })
  })
  routes.get('/object/:bucket/:name{.+}', (c) => sendObject(c))

  routes.post('/object/sign/:bucket/:name{.+}', async (c) => {
    const { bucket, name, url } = place(c)
    const claims = await caller(c)
    const { expiresIn, transform } = await read(c, inputs.sign)
    if (transform && Object.keys(transform).length) {
      throw refusals.notHere('Without transform a file is served as it is: images are not resized')
    }
    await find(claims, 'storage.object.sign', bucket, name)
    const token = await signatures.sign(url, expiresIn)
    return c.json({ signedURL: `/object/sign/${url}?token=${token}` })
  })
  routes.post('/object/sign/:bucket', async (c) => {
    const bucket = c.req.param('bucket')
    const claims = await caller(c)
    const { expiresIn, paths } = await read(c, inputs.signMany)
    const readable = new Set(
      await rows.run(claims, 'storage.object.sign_many', sql.findNames, {
        bucket,
        names: paths,
      }) as unknown as string[],
    )
    return c.json(
      await Promise.all(paths.map(async (path) => {
        if (!readable.has(path)) {
          const error = 'Either the object does not exist or you do not have access to it'
          return { error, path, signedURL: null }
        }
        const url = `${bucket}/${path}`
        const token = await signatures.sign(url, expiresIn)
        return { error: null, path, signedURL: `/object/sign/${url}?token=${token}` }
      })),
    )
  })
  routes.post('/object/list/:bucket', async (c) => {
    const claims = await caller(c)
    const { prefix, search, limit, offset, sortBy: { column, order } } = await read(c, inputs.list)
    const folder = prefix && !prefix.endsWith('/') ? `${prefix}/` : prefix
    // Storage sorts names with the folders among them, and everything else with the folders first.
    const sorting = column === 'name'
      ? `lower(name) collate "C" ${order}, name collate "C" ${order}`
      : `id is not null, ${column} ${order}, name collate "C" ${order}`
    const statement = `${sql.listFolder} order by ${sorting} limit ${limit} offset ${offset}`
    return c.json(
      await rows.run(claims, 'storage.object.list', statement, {
        bucket: c.req.param('bucket'),
        prefix: folder,
        search,
      }),
    )
  })
  routes.post('/object/move', async (c) => {
    const claims = await caller(c)
    const { bucketId, sourceKey, destinationKey, destinationBucket = bucketId } = await read(c, inputs.move)
    if (!validKey.test(destinationKey)) throw refusals.invalidKey(destinationKey)
    const values = {
      bucket: bucketId,
      name: sourceKey,
      to_bucket: destinationBucket,
      to_name: destinationKey,
      owner: claims.sub,
    }
    const [moved] = await rows.run(claims, 'storage.object.move', sql.moveObject, values)
    if (!moved) throw refusals.notFound()
    return c.json({ message: 'Successfully moved', Id: moved.id, Key: moved.name })
  })
  routes.delete('/object/:bucket', async (c) => {
    const claims = await caller(c)
    const { prefixes } = await read(c, inputs.remove)
    const values = { bucket: c.req.param('bucket'), names: prefixes }
    const removed = await rows.run(claims, 'storage.object.delete_many', sql.deleteObjects, values)
    await removeBytes(removed.map(({ version }) => version))
    return c.json(removed)
  })

  routes.on(['POST', 'PUT'], '/object/:bucket/:name{.+}', async (c) => {
    const { bucket, name, url } = place(c)
    const claims = await caller(c)
    const isUpdate = c.req.method === 'PUT'
    const id = await upload(c.req.raw, {
      bucket,
      name,
      claims,
      owner: claims.sub as string | undefined,
      operation: isUpdate ? 'storage.object.upload_update' : 'storage.object.upload',
      isUpsert: isUpdate || c.req.header('x-upsert') === 'true',
    })
    return c.json({ Id: id, Key: url })
  })

  const listBuckets = 'select to_jsonb(buckets) from storage.buckets'
  routes.get(
    '/bucket',
    async (c) => c.json(await rows.run(await caller(c), 'storage.bucket.list', `${listBuckets} order by name`, {})),
  )
  routes.get('/bucket/:bucket', async (c) => {
    const statement = `${listBuckets} where id = $1 ->> 'bucket'`
    const [found] = await rows.run(await caller(c), 'storage.bucket.get', statement, { bucket: c.req.param('bucket') })
    if (!found) throw refusals.noBucket()
    return c.json(found)
  })

  routes.all(
    '/render/*',
    () => refusals.notHere('Without transform a file is served as it is: images are not resized').response(),
  )
  routes.all('/bucket', () => refusals.notHere('Buckets come from the migrations').response())
  routes.all('/bucket/*', () => refusals.notHere('Buckets come from the migrations').response())
  routes.all(
    '*',
    (c) =>
      c.json({ statusCode: '404', error: 'Not Found', message: `Route ${c.req.method}:${c.req.path} not found` }, 404),
  )

  const close = () => {
    if (settings.dataDir === null) Deno.removeSync(folder, { recursive: true })
  }
  return { routes, close }
}
