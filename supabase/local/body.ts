/** A request body that cannot be read, with its HTTP status. */
export class BodyError extends Error {
  constructor(readonly status: 400 | 408 | 413, message: string) {
    super(message)
  }
}

/** Of uploads: how long a body may take, and how quick it must be on average once the first seconds are over. */
const uploadPace = { milliseconds: 300_000, firstMilliseconds: 15_000, bytesPerSecond: 2048 }

/**
 * The chunks of a body, until it is over `max` bytes, truncated or late: a slow one would keep its place for minutes.
 * Ignores Content-Length.
 */
export async function* chunksOf(
  body: ReadableStream<Uint8Array>,
  max: number,
  tooLarge: () => Error,
  { milliseconds, firstMilliseconds, bytesPerSecond } = uploadPace,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  const started = performance.now()
  let isLate = false
  let size = 0
  const watch = setInterval(() => {
    const taken = performance.now() - started
    if (taken < firstMilliseconds || taken < milliseconds && size >= taken / 1000 * bytesPerSecond) return
    isLate = true
    reader.cancel().catch(() => {})
  }, firstMilliseconds / 30)
  try {
    for (;;) {
      const { value, done } = await reader.read().catch(() => {
        throw new BodyError(400, 'The body ended too soon')
      })
      if (isLate) throw new BodyError(408, 'The body took too long to arrive')
      if (done) return
      size += value.byteLength
      if (size > max) throw tooLarge()
      yield value
    }
  } finally {
    clearInterval(watch)
    reader.cancel().catch(() => {})
  }
}

/** Reads a whole body, of Auth, the Data API and other JSON. */
export const readBody = async (
  body: ReadableStream<Uint8Array>,
  { bytes = 1_048_576, milliseconds = 30_000 } = {},
): Promise<Uint8Array<ArrayBuffer>> => {
  const pace = { milliseconds, firstMilliseconds: milliseconds, bytesPerSecond: 0 }
  const chunks: Uint8Array[] = []
  for await (const chunk of chunksOf(body, bytes, () => new BodyError(413, 'The body is over 1 MB'), pace)) {
    chunks.push(chunk)
  }
  return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer())
}
