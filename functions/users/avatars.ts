import type { Rpc } from '../_shared/rpc.ts'
import { log } from '../_shared/log.ts'
import { remove } from '../_shared/storage.ts'

// Of a thousand files each.
const rounds = 5

/** Removes the caller's avatars. Where Storage does not, they are left behind, and the log says so: nobody is kept from leaving by a picture. */
export const removeAvatars = async (db: Rpc, token: string): Promise<void> => {
  const list = async (): Promise<string[]> => JSON.parse((await db`list_avatars()`).body)
  let names = await list()
  for (let round = 0; round < rounds && names.length > 0; round++) {
    if (!await remove('avatars', names, token)) break
    names = await list()
  }
  if (names.length > 0) log('warn', 'Avatars were left behind')
}
