import { createServer, type ServerResponse } from 'node:http'
import type { Sql, TransactionSql } from 'postgres'
import { claimsOf } from './jwt.ts'
import { listen } from './ports.ts'
import { type StorageRefusal, storageRefusals } from './storage_answers.ts'

/** A request that the stand-in received. */
interface ReceivedRequest {
  method: string
  path: string
  headers: Record<string, string | string[] | undefined>
  body: string
}

export type Behaviour = 'normal' | 'silent' | 'down' | 'busy' | 'redirecting' | 'ignores ranges' | 'endless'

/** Runs statements as this user, as Storage does for this kind of request. */
export const asCaller = <Result>(
  sql: Sql,
  claims: { sub: string },
  operation: string,
  work: (sql: TransactionSql) => Promise<Result>,
): Promise<Result> =>
  sql.begin(async (transaction) => {
    await transaction`
      select
        set_config('request.jwt.claims', ${JSON.stringify({ ...claims, role: 'authenticated' })}, true),
        set_config('storage.operation', ${`storage.object.${operation}`}, true),
        set_config('storage.allow_delete_query', 'true', true)
    `
    await transaction`set local role authenticated`
    return await work(transaction)
  }) as Promise<Result>

/**
 * A stand-in for what the functions ask of Storage: to read a file and to remove some. Rights and rows are those of the
 * database; the bytes of the files are in a map, whose keys begin with the bucket.
 */
export const openStorage = async (sql: Sql) => {
  const files = new Map<string, Uint8Array>()
  const requests: ReceivedRequest[] = []
  const storage = { url: '', files, requests, behaviour: 'normal' as Behaviour, sent: 0, close: () => {} }

  const json = (response: ServerResponse, status: number, body: unknown) =>
    response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
  const sendRefusal = (response: ServerResponse, { http = 400, body }: StorageRefusal) => json(response, http, body)

  const remove = (token: string, bucket: string, names: string[]) =>
    asCaller(
      sql,
      claimsOf(token) as { sub: string },
      'delete_many',
      (asThem) =>
        asThem`delete from storage.objects where bucket_id = ${bucket} and name in ${asThem(names)} returning *`,
    )
  const read = async (token: string, path: string): Promise<{ bytes: Uint8Array; type: string } | null> => {
    const [, bucket, name] = /^([^/]+)\/(.+)$/.exec(path)!
    const [row] = await asCaller(
      sql,
      claimsOf(token) as { sub: string },
      'get_authenticated',
      (asThem) => asThem`select metadata from storage.objects where bucket_id = ${bucket!} and name = ${name!}`,
    )
    const bytes = files.get(path)
    return row && bytes ? { bytes, type: row.metadata.mimetype } : null
  }

  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { pathname } = new URL(request.url!, storage.url)
    requests.push({ method: request.method!, path: request.url!, headers: request.headers, body })
    if (storage.behaviour === 'silent') return
    if (storage.behaviour === 'down') return void request.socket.destroy()
    if (storage.behaviour === 'busy') return void sendRefusal(response, storageRefusals.timeOut)
    if (storage.behaviour === 'redirecting') {
      return void response.writeHead(302, { Location: `${storage.url}/elsewhere` }).end()
    }
    const token = String(request.headers.authorization).replace('Bearer ', '')
    const path = decodeURIComponent(pathname.replace('/storage/v1/object/', ''))
    if (request.method === 'DELETE') {
      return void json(response, 200, await remove(token, path, JSON.parse(body).prefixes))
    }
    const file = await read(token, path.replace('authenticated/', ''))
    if (!file) return void sendRefusal(response, storageRefusals.notFound)
    const { bytes, type } = file
    const headers = { 'Content-Type': type, 'Accept-Ranges': 'bytes', 'Cache-Control': 'max-age=3600' }
    if (storage.behaviour === 'endless') {
      response.writeHead(200, headers)
      const more = () => {
        while (!response.destroyed && response.write(bytes)) storage.sent += bytes.length
        response.once('drain', more)
      }
      return more()
    }
    const [, to] = /^bytes=0-(\d+)$/.exec(String(request.headers.range)) ?? []
    if (!to || storage.behaviour === 'ignores ranges') return void response.writeHead(200, headers).end(bytes)
    if (bytes.length === 0) return void sendRefusal(response, storageRefusals.noRange)
    const part = bytes.subarray(0, Number(to) + 1)
    response.writeHead(206, { ...headers, 'Content-Range': `bytes 0-${part.length - 1}/${bytes.length}` }).end(part)
  })
  storage.url = `http://127.0.0.1:${await listen(server)}`
  storage.close = () => {
    server.closeAllConnections()
    server.close()
  }
  return storage
}
