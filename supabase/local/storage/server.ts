import { type Context, Hono } from 'hono'
import { z } from 'zod'
import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import { bearerToken } from '../../../functions/_shared/token.ts'
import { BodyError, readBody } from '../body.ts'
import type { Database } from '../database.ts'
import { identifyWith } from '../realtime/identity.ts'
import type { Keys, Settings } from '../settings.ts'
import { sendFile } from './download.ts'
import { refusalOf, refusals } from './errors.ts'
import * as sql from './rows.ts'
import { type Claims, type Row, service } from './rows.ts'
import { openSignatures } from './signatures.ts'
import { openStore } from './store.ts'
import { openUploads, validKey } from './uploads.ts'

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

const read = async <Input>(c: Context, schema: z.ZodType<Input>): Promise<Input> => {
  const bytes = c.req.raw.body ? await readBody(c.req.raw.body) : new Uint8Array()
  try {
    return schema.parse(JSON.parse(new TextDecoder().decode(bytes)))
  } catch (error) {
    const [issue] = error instanceof z.ZodError ? error.issues : []
    throw refusals.invalidRequest(issue ? `body/${issue.path.join('/')} ${issue.message}` : 'The body is not JSON')
  }
}

/** For what supabase-js can ask of a project beyond these routes. */
const notHere = () =>
  refusals.notHere('Storage has upload, update, download, signed URLs, list, move and remove, and resizes no images')

const onError = async (error: Error, c: Context): Promise<Response> => {
  await c.req.raw.body?.cancel().catch(() => {})
  const refusal = error instanceof BodyError
    ? refusals.invalidRequest(error.message)
    : refusalOf(error) ?? refusals.internal()
  if (refusal.http === 500) log('error', 'Storage failed', describeError(error))
  const response = refusal.response(error instanceof BodyError ? error.status : refusal.http)
  // What is left of the body must not be taken for the next request.
  if (c.req.raw.body) response.headers.set('Connection', 'close')
  return response
}

/** Who asks, by the token or key of a request. */
const openCallers = (keys: Keys) => {
  const identify = identifyWith(keys)
  /** Null without a valid token. */
  const callerOf = async (c: Context): Promise<Claims | null> => {
    const token = bearerToken(c.req.header('Authorization')) ?? c.req.header('apikey')
    return token ? await identify(token).then(({ claims }) => claims, () => null) : null
  }
  const caller = async (c: Context): Promise<Claims> => {
    if (!c.req.header('Authorization') && !c.req.header('apikey')) {
      throw refusals.invalidRequest("headers must have required property 'authorization'")
    }
    const claims = await callerOf(c)
    if (!claims) throw refusals.notAllowed('Invalid token')
    return claims
  }
  return { callerOf, caller }
}

type Send = (c: Context, row: Row, expires?: Date) => Promise<Response>

/** Adds the routes that make signed addresses and read by them. */
const addSigned = (
  routes: Hono,
  { rows, find }: Awaited<ReturnType<typeof openStore>>,
  secret: string,
  caller: (c: Context) => Promise<Claims>,
  send: Send,
) => {
  const signatures = openSignatures(secret)
  const sign = async (url: string, seconds: number) =>
    `/object/sign/${url}?token=${await signatures.sign(url, seconds)}`

  routes.get('/object/sign/:bucket/:name{.+}', async (c) => {
    const { bucket, name } = c.req.param()
    const { exp } = await signatures.verify(c.req.query('token'), `${bucket}/${name}`)
    return await send(c, await find(service, 'storage.object.get_signed', bucket, name), new Date(exp * 1000))
  })
  routes.post('/object/sign/:bucket/:name{.+}', async (c) => {
    const { bucket, name } = c.req.param()
    const claims = await caller(c)
    const { expiresIn, transform } = await read(c, inputs.sign)
    if (transform && Object.keys(transform).length) throw notHere()
    await find(claims, 'storage.object.sign', bucket, name)
    return c.json({ signedURL: await sign(`${bucket}/${name}`, expiresIn) })
  })
  routes.post('/object/sign/:bucket', async (c) => {
    const bucket = c.req.param('bucket')
    const claims = await caller(c)
    const { expiresIn, paths } = await read(c, inputs.signMany)
    const found = await rows.run(claims, 'storage.object.sign_many', sql.findNames, { bucket, names: paths })
    const readable = new Set(found as unknown as string[])
    const error = 'Either the object does not exist or you do not have access to it'
    return c.json(
      await Promise.all(
        paths.map(async (path) =>
          readable.has(path)
            ? { error: null, path, signedURL: await sign(`${bucket}/${path}`, expiresIn) }
            : { error, path, signedURL: null }
        ),
      ),
    )
  })
}

/**
 * The part of Supabase's Storage API that additions name. Rows are read and written as the caller, under the policies;
 * the bytes lie in a folder.
 */
export const openStorage = async (database: Database, settings: Settings, keys: Keys) => {
  const opened = await openStore(database, settings)
  const { rows, files, find, findBucket, removeBytes, close } = opened
  const { store, upload } = openUploads(opened)
  const { callerOf, caller } = openCallers(keys)
  const routes = new Hono()
  routes.onError(onError)
  // What supabase-js can ask of a project beyond these.
  const others = 'object/copy object/upload/* object/list-v2/* object/info/* upload/* render/* bucket/*'
  for (const path of others.split(' ')) routes.all(path, () => notHere().response())

  const send = (c: Context, row: Row, expires?: Date) =>
    sendFile(c.req.raw, files, row, { download: c.req.query('download'), ...(expires && { expires }) })
  addSigned(routes, opened, keys.jwtSecret, caller, send)

  routes.get('/object/public/:bucket/:name{.+}', async (c) => {
    const { bucket, name } = c.req.param()
    if (!(await findBucket(bucket)).public) throw refusals.noBucket()
    return await send(c, await find(service, 'storage.object.get_public', bucket, name))
  })
  routes.on('GET', ['/object/authenticated/:bucket/:name{.+}', '/object/:bucket/:name{.+}'], async (c) => {
    const { bucket, name } = c.req.param()
    const claims = await callerOf(c)
    const isPublic = (await findBucket(bucket)).public
    if (!isPublic && !claims) throw refusals.noBucket()
    return await send(c, await find(isPublic ? service : claims!, 'storage.object.get_authenticated', bucket, name))
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
    const values = { bucket: c.req.param('bucket'), prefix: folder, search }
    return c.json(await rows.run(claims, 'storage.object.list', statement, values))
  })

  routes.post('/object/move', async (c) => {
    const claims = await caller(c)
    const { bucketId: bucket, sourceKey: name, destinationKey: to_name, destinationBucket: to_bucket = bucket } =
      await read(c, inputs.move)
    if (!validKey.test(to_name)) throw refusals.invalidKey(to_name)
    const values = { bucket, name, to_bucket, to_name, owner: claims.sub }
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
    const { bucket, name } = c.req.param()
    const claims = await caller(c)
    const isUpdate = c.req.method === 'PUT'
    const operation = isUpdate ? 'storage.object.upload_update' : 'storage.object.upload'
    const isUpsert = isUpdate || c.req.header('x-upsert') === 'true'
    const id = await upload(c.req.raw, { bucket, name, claims, operation, isUpsert })
    return c.json({ Id: id, Key: `${bucket}/${name}` })
  })
  routes.all('*', (c) => {
    const message = `Route ${c.req.method}:${c.req.path} not found`
    return c.json({ statusCode: '404', error: 'Not Found', message }, 404)
  })
  return { routes, store, close }
}
