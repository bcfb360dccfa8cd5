import { describeError } from '../../../functions/_shared/errors.ts'
import { log } from '../../../functions/_shared/log.ts'
import { type Database, retryOnConflict } from '../database.ts'
import type { Settings } from '../settings.ts'
import { refusals } from './errors.ts'
import { openFiles } from './files.ts'
import { type Claims, findObject, openRows, type Row } from './rows.ts'

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

/** The rows, read and written as the caller, and the bytes that they name. */
export const openStore = async (database: Database, settings: Settings) => {
  await retryOnConflict(() => database.run(Deno.readTextFileSync(new URL('install.sql', import.meta.url))))
  const folder = await folderOf(database, settings)
  const files = await openFiles(folder)
  const known = await database.query('select version from storage.objects', [])
  const versions = new Set(known.map(({ version }) => version))
  const swept = await files.sweep((version) => versions.has(version))
  if (swept) log('info', 'Files without a row were removed', { count: swept })
  const rows = openRows(database)
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
    const [found] = await rows.run(claims, operation, findObject, { bucket, name })
    if (!found) throw refusals.notFound()
    return found
  }
  const removeBytes = (versions: (string | null | undefined)[]) =>
    files.remove(versions.filter((version) => typeof version === 'string')).catch((error) =>
      // The sweep at the next start removes them.
      log('error', 'A removed file is still on the disk', describeError(error))
    )

  const close = () => {
    if (settings.dataDir === null) Deno.removeSync(folder, { recursive: true })
  }
  return { files, rows, findBucket, find, removeBytes, close }
}

export type Store = Awaited<ReturnType<typeof openStore>>
