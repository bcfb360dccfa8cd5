import type { Rpc } from '../_shared/rpc.ts'
import { log } from '../_shared/log.ts'
import { platformFetch } from '../_shared/platform_fetch.ts'
import { project } from '../_shared/settings.ts'
import { createSupabaseClient } from '../_shared/supabase_auth.ts'

/** Storage answers in a tenth of this. */
const timeoutMilliseconds = 3000

// Each round removes up to a thousand files.
const maxRounds = 5

/** Removes the caller's avatars. If Storage fails, this is only logged: it must not prevent the erasure. */
export const removeAvatars = async (db: Rpc, token: string): Promise<void> => {
  const list = async (): Promise<string[]> => JSON.parse((await db`list_avatars()`).body)
  const open = () =>
    createSupabaseClient(project.publishableKey, {
      headers: { Authorization: `Bearer ${token}` },
      // A redirect must not receive the token.
      fetch: (input, init) =>
        platformFetch(input, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeoutMilliseconds) }),
    })
  let names = await list()
  for (let round = 0; round < maxRounds && names.length > 0; round++) {
    const { data, error } = await open().storage.from('avatars').remove(names)
    // Storage answers 400 to nearly all that it refuses; the real status is in the body.
    if (error) log('warn', 'Storage refused or did not answer', { status: Number(error.statusCode) || error.name })
    if (data?.length !== names.length) break
    names = await list()
  }
  if (names.length > 0) log('warn', 'Avatars were left behind')
}
