import { refusals, StorageError } from '../../supabase/local/storage/errors.ts'

/** An error as Storage words it. Its HTTP status is 400, unless there is another one here. */
export interface StorageRefusal {
  http?: number
  body: { statusCode: string; error: string; message: string; code: string }
}

const refusal = ({ statusCode, error, message, code, http }: StorageError): StorageRefusal => ({
  body: { statusCode: `${statusCode}`, error, message, code },
  ...(http !== 400 && { http }),
})

/**
 * What the Storage of one machine answers, and one answer that it does not give. All but that one are compared with
 * Storage itself in tests/contract/storage.test.ts.
 */
export const storageRefusals = {
  notFound: refusal(refusals.notFound()),
  noBucket: refusal(refusals.noBucket()),
  notAllowed: refusal(refusals.notAllowed()),
  exists: refusal(refusals.exists()),
  tooLarge: refusal(refusals.tooLarge()),
  wrongType: refusal(refusals.wrongType('text/html')),
  noRange: refusal(refusals.noRange()),
  timeOut: refusal(
    new StorageError(544, 'DatabaseTimeout', 'The connection to the database timed out', 'DatabaseTimeout', 544),
  ),
}
