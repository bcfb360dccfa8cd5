import { log } from './log.ts'
import { platformFetch } from './platform_fetch.ts'
import { project } from './settings.ts'

/** Storage answers in a tenth of this. */
const timeoutMilliseconds = 3000

/** Storage answers 400 to nearly all that it refuses; the real status is in the body. */
const statusOf = async (response: Response): Promise<number> => {
  const [, status] = /"statusCode":"(\d{3})"/.exec(await response.text()) ?? []
  return status ? Number(status) : response.status
}

/** Removes files of the caller. Returns whether all of them were removed, and logs why not. */
export const removeFiles = async (bucket: string, paths: string[], token: string): Promise<boolean> => {
  try {
    const response = await platformFetch(`${project.platformUrl}/storage/v1/object/${bucket}`, {
      method: 'DELETE',
      headers: {
        'Content-Type': 'application/json',
        apikey: project.publishableKey,
        Authorization: `Bearer ${token}`,
      },
      body: JSON.stringify({ prefixes: paths }),
      // A redirect must not receive the token.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    if (response.ok) return (await response.json() as unknown[]).length === paths.length
    log('warn', 'Storage refused', { status: await statusOf(response) })
  } catch (error) {
    log('warn', 'Storage did not answer', { kind: (error as Error).name })
  }
  return false
}
