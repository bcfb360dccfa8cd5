import type { Verbs } from '../_shared/database.ts'
import { log } from '../_shared/log.ts'
import { remove } from '../_shared/storage.ts'

// Of a thousand files each.
const rounds = 5

/** Removes the caller's avatars. Where Storage does not, they are left behind, and the log says so: nobody is kept from leaving by a picture. */
export const removeAvatars = async (db: Verbs, token: string): Promise<void> => {
  for (let round = 0; round < rounds; round++) {
    const names: string[] = JSON.parse((await db`list_avatars()`).body)
    if (names.length === 0) return
    if (!await remove('avatars', names, token)) break
  }
  log('warn', 'Avatars were left behind')
}
