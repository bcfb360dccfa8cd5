import { log } from './log.ts'
import { platformFetch } from './platform_fetch.ts'
import { settings } from './settings.ts'

/** Storage answers in a tenth of this. */
const timeoutMilliseconds = 3000

/** The first bytes of a body. The rest is not downloaded. */
const readUpTo = async (max: number, { body }: Response): Promise<Uint8Array> => {
  const bytes = new Uint8Array(max)
  let length = 0
  for await (const chunk of body ?? []) {
    const part = chunk.subarray(0, max - length)
    bytes.set(part, length)
    length += part.length
    if (length === max) break
  }
  return bytes.subarray(0, length)
}

/** Storage answers 400 to nearly all that it refuses; the real status is in the body. */
const statusOf = async (response: Response): Promise<number> => {
  const text = new TextDecoder().decode(await readUpTo(1000, response))
  const [, status] = /"statusCode":"(\d{3})"/.exec(text) ?? []
  return status ? Number(status) : response.status
}

/** Calls Storage with the caller's token. Returns null, and logs the reason, where that fails. */
const callStorage = async <Result>(
  what: string,
  path: string,
  token: string,
  init: RequestInit,
  read: (response: Response) => Promise<Result>,
): Promise<Result | null> => {
  try {
    const response = await platformFetch(`${settings.platformUrl}/storage/v1/object/${path}`, {
      ...init,
      headers: { ...init.headers, apikey: settings.publishableKey, Authorization: `Bearer ${token}` },
      // A redirect must not receive the token.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    if (response.ok) return await read(response)
    const status = await statusOf(response)
    log('warn', 'Storage refused', { what, status })
  } catch (error) {
    log('warn', 'Storage did not answer', { what, kind: (error as Error).name })
  }
  return null
}

/** The first bytes of a file that the caller may read, or null where Storage does not return it. */
export const downloadHead = (bucket: string, path: string, max: number, token: string): Promise<Uint8Array | null> =>
  callStorage(
    'read a file',
    `authenticated/${bucket}/${path.split('/').map(encodeURIComponent).join('/')}`,
    token,
    { headers: { 'Accept-Encoding': 'identity', ...(max > 0 && { Range: `bytes=0-${max - 1}` }) } },
    (response) => readUpTo(max, response),
  )

/** Removes files of the caller. Returns whether all of them were removed. */
export const removeFiles = async (bucket: string, paths: string[], token: string): Promise<boolean> => {
  const removed = await callStorage(
    'remove files',
    bucket,
    token,
    {
      method: 'DELETE',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ prefixes: paths }),
    },
    async (response) => await response.json() as unknown[],
  )
  return removed?.length === paths.length
}
