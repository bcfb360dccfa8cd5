import { rawRequest, type RawResponse } from './raw_request.ts'

/** Sends a request as written: `path` is not normalised, and any header may be set. */
export const send = (
  path: string,
  headers?: Record<string, string>,
  method = 'GET',
  body?: string,
): Promise<RawResponse> => rawRequest(method, path, headers, body)

/** The status of the response. */
export const statusOf = async (path: string, headers: Record<string, string>, method = 'GET'): Promise<number> =>
  (await send(path, headers, method)).status
