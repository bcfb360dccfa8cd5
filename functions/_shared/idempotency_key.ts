import { httpError } from './errors.ts'

/** The idempotency key of a request, from its header or its body; 400 if they differ. */
export const idempotencyKey = (fromHeader?: string, fromBody?: string | null): string | null => {
  if (fromHeader && fromBody && fromHeader !== fromBody) {
    httpError('invalid', 'client_id: differs from the Idempotency-Key header')
  }
  return fromBody ?? fromHeader ?? null
}
