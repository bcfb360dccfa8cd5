import { log } from './log.ts'
import { platformFetch } from './platform_fetch.ts'
import { settings } from './settings.ts'

/** Longer than this nobody waits for Storage, which answers in a tenth of it. */
const timeLimitMilliseconds = 3000

/** Asks Storage as whoever the token is of; null, and a line in the log, where it does not do what was asked. */
const ask = async <Told>(
  what: string,
  path: string,
  token: string,
  init: RequestInit,
  read: (response: Response) => Promise<Told>,
): Promise<Told | null> => {
  try {
    const response = await platformFetch(`${settings.platformUrl}/storage/v1/object/${path}`, {
      ...init,
      headers: { ...init.headers, apikey: settings.publishableKey, Authorization: `Bearer ${token}` },
      // The token is for Storage, wherever it may point.
      redirect: 'error',
      signal: AbortSignal.timeout(timeLimitMilliseconds),
    })
    if (response.ok) return await read(response)
    await response.body?.cancel()
    // Where there is none, as on one machine, nothing went wrong.
    if (response.status !== 501) log('warn', 'Storage refused', { what, status: response.status })
  } catch (error) {
    log('warn', 'Storage did not answer', { what, kind: (error as Error).name })
  }
  return null
}

/** What comes of a body, up to so many bytes; the rest is never received. */
const upTo = async (most: number, { body }: Response): Promise<Uint8Array> => {
  const bytes = new Uint8Array(most)
  let length = 0
  for await (const chunk of body ?? []) {
    const part = chunk.subarray(0, most - length)
    bytes.set(part, length)
    length += part.length
    if (length === most) break
  }
  return bytes.subarray(0, length)
}

/** How a file begins, as far as whoever the token is of may read it; null where Storage does not say. */
export const firstBytes = (bucket: string, path: string, most: number, token: string): Promise<Uint8Array | null> =>
  ask(
    'read a file',
    `authenticated/${bucket}/${path.split('/').map(encodeURIComponent).join('/')}`,
    token,
    { headers: { 'Accept-Encoding': 'identity', ...(most > 0 && { Range: `bytes=0-${most - 1}` }) } },
    (response) => upTo(most, response),
  )

/** Removes files of one's own; whether all of them are gone. */
export const remove = async (bucket: string, paths: string[], token: string): Promise<boolean> => {
  const removed = await ask(
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
