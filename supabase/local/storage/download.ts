import type { Files } from './files.ts'
import { refusals } from './errors.ts'
import type { Row } from './rows.ts'

/**
 * Whoever uploads a file chooses its type, and files have the origin of the dashboard. So pages and scripts are text,
 * as in Storage, and nothing that a browser opens may run anything, send a form or reach a cookie.
 */
const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; media-src 'self'; sandbox"
const typeOf = (type: string): string => /html|script/i.test(type) ? 'text/plain; charset=utf-8' : type
const opensInPlace = /^(image\/(avif|gif|jpeg|png|webp)|audio\/|video\/|text\/plain|application\/pdf)/i

const dispositionOf = (type: string, download: string | undefined): string | null => {
  if (download) {
    const name = encodeURIComponent(download)
    return `attachment; filename=${name}; filename*=UTF-8''${name}`
  }
  return download === '' || !opensInPlace.test(type) ? 'attachment;' : null
}

const rangeOf = (header: string, size: number): { start: number; end: number } => {
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? []
  const start = from ? Number(from) : Math.max(size - Number(to), 0)
  const end = from && to ? Math.min(Number(to), size - 1) : size - 1
  const isValid = (from || Number(to) > 0) && start <= end && start < size && Number.isSafeInteger(start)
  if (!isValid) throw refusals.noRange()
  return { start, end }
}

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '')

const isUnchanged = ({ headers }: Request, eTag: string, modified: Date): boolean => {
  const tags = headers.get('If-None-Match')
  if (tags) return tags.trim() === '*' || tags.split(',').some((tag) => opaque(tag) === eTag)
  const since = Date.parse(headers.get('If-Modified-Since') ?? '')
  return Math.floor(modified.getTime() / 1000) * 1000 <= since
}

/** The file of a row, or a range of it, or 304. */
export const sendFile = async (
  request: Request,
  files: Files,
  { version, metadata, updated_at }: Row,
  { download, expires }: { download?: string | undefined; expires?: Date },
): Promise<Response> => {
  const size = Number(metadata?.size ?? 0)
  const eTag: string = metadata?.eTag ?? `"${version}"`
  const modified = new Date(metadata?.lastModified ?? updated_at)
  const type = typeOf(metadata?.mimetype ?? 'application/octet-stream')
  const headers = new Headers({
    'Accept-Ranges': 'bytes',
    'Content-Type': type,
    'Content-Security-Policy': policy,
    ETag: eTag,
    'Last-Modified': modified.toUTCString(),
    'X-Content-Type-Options': 'nosniff',
    'X-Robots-Tag': 'none',
    ...(expires ? { Expires: expires.toUTCString() } : { 'Cache-Control': metadata?.cacheControl ?? 'no-cache' }),
  })
  const disposition = dispositionOf(metadata?.mimetype ?? '', download)
  if (disposition) headers.set('Content-Disposition', disposition)
  if (isUnchanged(request, eTag, modified)) return new Response(null, { status: 304, headers })
  const condition = request.headers.get('If-Range')
  const wanted = condition === null || condition === eTag ? request.headers.get('Range') : null
  const { start, end } = wanted === null ? { start: 0, end: size - 1 } : rangeOf(wanted, size)
  headers.set('Content-Length', `${end - start + 1}`)
  if (wanted !== null) headers.set('Content-Range', `bytes ${start}-${end}/${size}`)
  const body = request.method === 'HEAD' ? null : await files.read(version, start, end)
  if (request.method !== 'HEAD' && !body) throw refusals.noBytes()
  return new Response(body, { status: wanted === null ? 200 : 206, headers })
}
