import { Buffer } from 'node:buffer'
import { chunksOf } from '../body.ts'
import { refusals } from './errors.ts'

/** A file as it arrives: its bytes, and what was said about it. */
export interface Incoming {
  body: AsyncIterable<Uint8Array>
  type: string
  cacheControl: string
}

// It becomes a header of every download.
const headerText = /^[\x20-\x7e]{1,255}$/
const checked = (incoming: Incoming): Incoming => {
  if (!headerText.test(incoming.type) || !incoming.type.includes('/')) throw refusals.wrongType(incoming.type)
  if (!headerText.test(incoming.cacheControl)) throw refusals.invalidRequest('The cache control is not one')
  return incoming
}

/** Reads a form. Deno skips a part without a name, as which supabase-js sends the file, so it gets one. */
const readForm = async (body: Buffer, type: string): Promise<FormData> => {
  const [, boundary = ''] = /boundary="?([^";]{1,70})"?/i.exec(type) ?? []
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="`
  const at = body.indexOf(`${head}"`)
  const named = at < 0
    ? [body]
    : [body.subarray(0, at + head.length), Buffer.from('file'), body.subarray(at + head.length)]
  return await new Response(Buffer.concat(named), { headers: { 'Content-Type': type } }).formData().catch(() => {
    throw refusals.invalidRequest('Unexpected end of form')
  })
}

export const isForm = (request: Request): boolean =>
  /^multipart\/form-data/i.test(request.headers.get('Content-Type') ?? '')

/** The fields beside the file, and the boundaries. */
const formOverhead = 1_100_000

/**
 * The file of an upload: the body itself, or a part of a form, as supabase-js sends a Blob or a File. A form is read
 * into memory, up to the limit of the bucket.
 */
export const readUpload = async (request: Request, max: number): Promise<Incoming> => {
  const { headers } = request
  if (!isForm(request)) {
    return checked({
      body: request.body ? chunksOf(request.body, max, refusals.tooLarge) : ReadableStream.from([]),
      type: headers.get('Content-Type') ?? 'application/octet-stream',
      cacheControl: headers.get('Cache-Control') ?? 'no-cache',
    })
  }
  const body = request.body ? chunksOf(request.body, max + formOverhead, refusals.tooLarge) : []
  const form = await readForm(Buffer.concat(await Array.fromAsync(body)), headers.get('Content-Type')!)
  const file = [...form.values()].find((part) => part instanceof File)
  if (!file) throw refusals.invalidRequest('No content provided')
  const seconds = form.get('cacheControl')
  return checked({
    body: file.stream(),
    type: file.type || 'application/octet-stream',
    cacheControl: seconds ? `max-age=${seconds}` : 'no-cache',
  })
}
