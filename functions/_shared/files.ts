import { log } from './log.ts'
import { platformFetch } from './platform_fetch.ts'
import { project } from './settings.ts'

/** Storage answers in a tenth of this. */
const timeoutMilliseconds = 3000

/** Removes files with a user's token. Returns how many are gone; that Storage refuses or is down is only logged. */
export const removeFiles = async (bucket: string, names: string[], token: string): Promise<number> => {
  try {
    const response = await platformFetch(`${project.platformUrl}/storage/v1/object/${bucket}`, {
      method: 'DELETE',
      headers: {
        apikey: project.publishableKey,
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ prefixes: names }),
      // A redirect must not receive the token.
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMilliseconds),
    })
    const answer = await response.json()
    if (response.ok) return answer.length
    // Storage answers 400 to nearly all that it refuses; the real status is in the body.
    log('warn', 'Storage refused or did not answer', { status: Number(answer.statusCode) || response.status })
  } catch (error) {
    log('warn', 'Storage refused or did not answer', { status: (error as Error).name })
  }
  return 0
}
