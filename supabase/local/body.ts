/** A request body that cannot be read, with its HTTP status. */
export class BodyError extends Error {
  constructor(readonly status: 400 | 408 | 413, message: string) {
    super(message)
  }
}

const maxBytes = 1_048_576
const timeout = 30_000

/** Reads the whole body; throws a BodyError if it is too large, too slow or truncated. Ignores Content-Length. */
export const readBody = async (
  body: ReadableStream<Uint8Array>,
  limits: { bytes?: number; milliseconds?: number } = {},
): Promise<Uint8Array<ArrayBuffer>> => {
  const { bytes = maxBytes, milliseconds = timeout } = limits
  const reader = body.getReader()
  let failure: BodyError | null = null
  const fail = (status: 408 | 413, message: string): void => {
    failure ??= new BodyError(status, message)
    // Stop reading; the client may still be sending.
    reader.cancel().catch(() => {})
  }
  const deadline = setTimeout(() => fail(408, 'The body took too long to arrive'), milliseconds)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (let { value } = await reader.read(); value; { value } = await reader.read()) {
      size += value.byteLength
      if (size > bytes) fail(413, 'The body is over 1 MB')
      else chunks.push(value)
    }
  } catch {
    throw failure ?? new BodyError(400, 'The body ended too soon')
  } finally {
    clearTimeout(deadline)
  }
  if (failure) throw failure
  const whole = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}
