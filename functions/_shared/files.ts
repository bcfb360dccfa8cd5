import { log } from './log.ts'
import { platformFetch } from './platform.ts'
import type { Rpc } from './rpc.ts'
import { project } from './settings.ts'

/** Removes files with a user's token. Returns how many are gone; that Storage refuses or is down is only logged. */
export const removeFiles = async (bucket: string, names: string[], token: string): Promise<number> => {
  try {
    const response = await platformFetch(`${project.platformUrl}/storage/v1/object/${bucket}`, {
      method: 'DELETE',
      headers: { apikey: project.publishableKey, Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ prefixes: names }),
      // A redirect must not receive the token.
      redirect: 'error',
      // Storage answers in a tenth of this.
      signal: AbortSignal.timeout(3000),
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

/** Removes the caller's avatars. If Storage fails, this is only logged: it must not prevent the erasure. */
export const removeAvatars = async (db: Rpc, token: string): Promise<void> => {
  // Each round removes up to a thousand files.
  for (let round = 0; round < 5; round++) {
    const names: string[] = JSON.parse((await db`list_avatars()`).body)
    if (names.length === 0) return
    if (await removeFiles('avatars', names, token) !== names.length) break
  }
  log('warn', 'Avatars were left behind')
}
