import { Buffer } from 'node:buffer'
import { chunksOf } from '../body.ts'
import { jsonExceedsDepth } from '../nesting.ts'
import { refusals } from './errors.ts'

/** A file as it arrives: its bytes, and what was said about it. */
export interface Incoming {
  body: AsyncIterable<Uint8Array>
  type: string
  cacheControl: string
  userMetadata: unknown
}

const metadataOf = (text: string | null, isBase64: boolean): unknown => {
  if (text === null) return null
  let json: Uint8Array
  let metadata: unknown
  try {
    json = isBase64 ? Uint8Array.fromBase64(text) : new TextEncoder().encode(text)
    metadata = JSON.parse(new TextDecoder().decode(json))
  } catch {
    return null
  }
  if (jsonExceedsDepth(json)) throw refusals.invalidRequest('The metadata are nested too deep')
  return metadata
}

// It becomes a header of every download.
const headerText = /^[\x20-\x7e]{1,255}$/
const checked = (incoming: Incoming): Incoming => {
  if (!headerText.test(incoming.type) || !incoming.type.includes('/')) throw refusals.wrongType(incoming.type)
  if (!headerText.test(incoming.cacheControl)) throw refusals.invalidRequest('The cache control is not one')
  return incoming
}

interface Part {
  name: string
  isFile: boolean
  type: string | null
  content: Buffer
}

/** The parts of a form. Deno's own formData() skips the part without a name, as which supabase-js sends the file. */
const partsOf = (body: Buffer, boundary: string): Part[] => {
  const parts: Part[] = []
  const end = Buffer.from(`\r\n--${boundary}`)
  let from = body.indexOf(end.subarray(2)) + end.length - 2
  while (from >= end.length - 2 && body.subarray(from, from + 2).toString() === '\r\n') {
    const head = body.indexOf('\r\n\r\n', from)
    const next = head < 0 ? -1 : body.indexOf(end, head + 4)
    if (next < 0) throw refusals.invalidRequest('Unexpected end of form')
    const about = body.subarray(from, head).toString()
    parts.push({
      name: /\bname="([^"]*)"/i.exec(about)?.[1] ?? '',
      isFile: /\bfilename\*?=/i.test(about),
      // Not with the spaces in the pattern, which would try each of a long row of them.
      type: /^content-type:(.*)$/im.exec(about)?.[1]?.trim() || null,
      content: body.subarray(head + 4, next),
    })
    from = next + end.length
  }
  return parts
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
      userMetadata: metadataOf(headers.get('x-metadata'), true),
    })
  }
  const [, boundary = ''] = /boundary="?([^";]{1,70})"?/i.exec(headers.get('Content-Type')!) ?? []
  const body = request.body ? chunksOf(request.body, max + formOverhead, refusals.tooLarge) : []
  const parts = partsOf(Buffer.concat(await Array.fromAsync(body)), boundary)
  const file = parts.find(({ isFile }) => isFile)
  if (!file) throw refusals.invalidRequest('No content provided')
  const text = (name: string): string | null =>
    parts.find((part) => !part.isFile && part.name === name)?.content.toString() ?? null
  const seconds = text('cacheControl')
  return checked({
    body: ReadableStream.from([file.content]),
    type: text('contentType') || file.type || 'application/octet-stream',
    cacheControl: seconds ? `max-age=${seconds}` : 'no-cache',
    userMetadata: metadataOf(text('metadata') ?? text('userMetadata'), false),
  })
}
