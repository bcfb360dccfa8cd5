import { removeFiles } from '../_shared/files.ts'
import { log } from '../_shared/log.ts'
import type { Rpc } from '../_shared/rpc.ts'

// Each round removes up to a thousand files.
const maxRounds = 5

/** Removes the caller's avatars. If Storage fails, this is only logged: it must not prevent the erasure. */
export const removeAvatars = async (db: Rpc, token: string): Promise<void> => {
  const list = async (): Promise<string[]> => JSON.parse((await db`list_avatars()`).body)
  let names = await list()
  for (let round = 0; round < maxRounds && names.length > 0; round++) {
    if (await removeFiles('avatars', names, token) !== names.length) break
    names = await list()
  }
  if (names.length > 0) log('warn', 'Avatars were left behind')
}
