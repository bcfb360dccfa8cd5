/** An error as Storage words it. Its HTTP status is 400, unless there is another one here. */
export interface StorageRefusal {
  http?: number
  body: { statusCode: string; error: string; message: string; code: string }
}

const refusal = (statusCode: string, error: string, message: string, code: string, http?: number): StorageRefusal => ({
  body: { statusCode, error, message, code },
  ...(http && { http }),
})

/** What Storage answers. tests/platform/storage_stand_ins.test.ts compares all but the time-out with Storage itself. */
export const storageRefusals = {
  /** Also where the caller may not read the file. */
  notFound: refusal('404', 'not_found', 'Object not found', 'NoSuchKey'),
  noBucket: refusal('404', 'Bucket not found', 'Bucket not found', 'NoSuchBucket'),
  notAllowed: refusal('403', 'Unauthorized', 'new row violates row-level security policy', 'AccessDenied'),
  exists: refusal('409', 'Duplicate', 'The resource already exists', 'KeyAlreadyExists'),
  tooLarge: refusal('413', 'Payload too large', 'The object exceeded the maximum allowed size', 'EntityTooLarge'),
  wrongType: refusal('415', 'invalid_mime_type', 'mime type text/html is not supported', 'InvalidMimeType'),
  noRange: refusal('416', 'invalid_range', 'invalid range provided', 'InvalidRange', 416),
  timeOut: refusal('544', 'DatabaseTimeout', 'The connection to the database timed out', 'DatabaseTimeout', 544),
}
