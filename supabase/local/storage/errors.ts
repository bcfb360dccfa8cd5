import { isDatabaseError } from '../../../functions/_shared/errors.ts'

/** An error in the format of Storage: its HTTP status is mostly 400, and the real one is in the body. */
export class StorageError extends Error {
  constructor(
    readonly statusCode: number,
    readonly error: string,
    override readonly message: string,
    readonly code: string,
    readonly http = 400,
  ) {
    super(message)
  }

  response(status = this.http): Response {
    const { statusCode, error, message, code } = this
    return Response.json({ statusCode: `${statusCode}`, error, message, code }, {
      status,
      headers: { 'Cache-Control': 'no-store' },
    })
  }
}

/** What Storage answers. tests/contract/storage.test.ts compares it with Storage itself. */
export const refusals = {
  /** Also where the caller may not read the file. */
  notFound: () => new StorageError(404, 'not_found', 'Object not found', 'NoSuchKey'),
  noBytes: () => new StorageError(404, 'Not found', 'The resource was not found', 'NoSuchKey'),
  noBucket: () => new StorageError(404, 'Bucket not found', 'Bucket not found', 'NoSuchBucket'),
  notAllowed: (message = 'new row violates row-level security policy') =>
    new StorageError(403, 'Unauthorized', message, 'AccessDenied'),
  exists: () => new StorageError(409, 'Duplicate', 'The resource already exists', 'KeyAlreadyExists'),
  tooLarge: () =>
    new StorageError(413, 'Payload too large', 'The object exceeded the maximum allowed size', 'EntityTooLarge'),
  wrongType: (type: string) =>
    new StorageError(415, 'invalid_mime_type', `mime type ${type} is not supported`, 'InvalidMimeType'),
  noRange: () => new StorageError(416, 'invalid_range', 'invalid range provided', 'InvalidRange', 416),
  invalidKey: (key: string) => new StorageError(400, 'InvalidKey', `Invalid key: ${key}`, 'InvalidKey'),
  invalidToken: (message: string) => new StorageError(400, 'InvalidJWT', message, 'InvalidJWT'),
  invalidSignature: () => new StorageError(400, 'InvalidSignature', 'Invalid signature', 'InvalidSignature'),
  invalidRequest: (message: string) => new StorageError(400, 'InvalidRequest', message, 'InvalidRequest'),
  busy: () => new StorageError(429, 'too_many_uploads', 'Too many uploads at once, please try again', 'SlowDown', 429),
  internal: () => new StorageError(500, 'Internal', 'Internal Server Error', 'InternalError', 500),
  diskFull: () => new StorageError(500, 'Internal', 'There is no space left for the file', 'InternalError', 500),
  notHere: (what: string) =>
    new StorageError(501, 'Not Implemented', `${what} on one machine (docs/architecture.md)`, 'NotImplemented', 501),
}

/** The error of a statement that the database has refused; null for any other. */
export const refusalOf = (error: unknown): StorageError | null => {
  if (error instanceof StorageError) return error
  if ((error as { code?: string })?.code === 'ENOSPC') return refusals.diskFull()
  if (!isDatabaseError(error)) return null
  if (error.code === '42501') return refusals.notAllowed()
  if (error.code === '23505') return refusals.exists()
  if (error.code === '23503') return refusals.noBucket()
  // NUL characters and lone surrogates, which JSON may contain and Postgres cannot store.
  if (error.code?.startsWith('22')) return refusals.invalidRequest('The request contains what cannot be stored')
  return null
}
