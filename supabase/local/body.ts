/** Why a body was not taken, as an HTTP status. */
export class BodyRefused extends Error {
  constructor(readonly status: 400 | 408 | 413, message: string) {
    super(message)
  }
}

const mostBytes = 1_048_576
const mostTime = 30_000

/** The whole body, counted as it comes, whatever its Content-Length says; throws a BodyRefused for one that is too large, too slow or cut off. */
export const readBody = async (
  body: ReadableStream<Uint8Array>,
  limits: { bytes?: number; milliseconds?: number } = {},
): Promise<Uint8Array<ArrayBuffer>> => {
  const { bytes = mostBytes, milliseconds = mostTime } = limits
  const reader = body.getReader()
  let refused: BodyRefused | null = null
  const httpError = (status: 408 | 413, message: string): void => {
    refused ??= new BodyRefused(status, message)
    // Whoever still sends is not waited for.
    reader.cancel().catch(() => {})
  }
  const deadline = setTimeout(() => httpError(408, 'The body took too long to arrive'), milliseconds)
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for (let { value } = await reader.read(); value; { value } = await reader.read()) {
      size += value.byteLength
      if (size > bytes) httpError(413, 'The body is over 1 MB')
      else chunks.push(value)
    }
  } catch {
    throw refused ?? new BodyRefused(400, 'The body ended too soon')
  } finally {
    clearTimeout(deadline)
  }
  if (refused) throw refused
  const whole = new Uint8Array(size)
  let offset = 0
  for (const chunk of chunks) {
    whole.set(chunk, offset)
    offset += chunk.byteLength
  }
  return whole
}
