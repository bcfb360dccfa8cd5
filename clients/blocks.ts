import type { Api } from './api.ts'
import { createRetryLoop } from './retry_loop.ts'

/** Reads whom the user has blocked: they are not told and may still send, so this side leaves the topic. */
export const createBlocks = (api: Api, onRead: () => void) => {
  let blocked: ReadonlySet<number> | null = null
  const loop = createRetryLoop(async (signal) => {
    blocked = new Set(await api.blockedUsers(signal))
    onRead()
  })
  return {
    loop,
    /** Null until they are loaded. */
    isBlocked: (user: number) => blocked && blocked.has(user),
  }
}
export type Blocks = ReturnType<typeof createBlocks>
