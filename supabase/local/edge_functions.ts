import { log } from '../../functions/_shared/log.ts'

export type EdgeFunction = { fetch: (request: Request) => Response | Promise<Response> }

export interface EdgeFunctions {
  byName: Record<string, EdgeFunction>
  /** Makes the embeddings that are due. */
  drain: () => void
  /** Sends the notifications that are due. */
  notify: () => void
  close: () => void
}

/** The functions' sources, in this process. Imported late: they read their settings from the environment. */
export const openEdgeFunctions = async (): Promise<EdgeFunctions> => {
  const { drainInBackground } = await import('../../functions/_shared/embeddings/drain.ts')
  const { notify } = await import('../../functions/notify/run.ts')
  return {
    byName: {
      auth: (await import('../../functions/auth/index.ts')).default,
      users: (await import('../../functions/users/index.ts')).default,
      conversations: (await import('../../functions/conversations/index.ts')).default,
      health: (await import('../../functions/health/index.ts')).default,
      embed: (await import('../../functions/embed/index.ts')).default,
      notify: (await import('../../functions/notify/index.ts')).default,
    },
    drain: drainInBackground,
    notify: () => void notify().catch(({ name, code }) => log('warn', 'Sending notifications failed', { name, code })),
    close: () => {},
  }
}
