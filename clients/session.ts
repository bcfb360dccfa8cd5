import type { Session } from '@supabase/supabase-js'
import { offlineError, ServiceError } from './errors.ts'
import { onClosed } from './timers.ts'
import type { Client } from './types.ts'

/**
 * In whose name requests are sent: of whoever is signed in at the time of the request. `check` throws if they may not
 * be, or if that cannot be known.
 */
export const createSessions = (
  auth: Client['auth'],
  check = (_session: Session | null, _error: Error | null): void => {},
) => {
  let refreshing: ReturnType<typeof auth.refreshSession> | null = null
  const current = async (): Promise<Session | null> => {
    const { data: { session }, error } = await auth.getSession()
    check(session, error)
    return session
  }
  return {
    current,
    /** The same user's next session after the service rejected this one's token; null if there is none. */
    async refreshed(rejected: Session): Promise<Session | null> {
      if ((await current())?.access_token === rejected.access_token) {
        // Concurrent calls share a refresh, because a refresh token can be used once.
        const { error } = await (refreshing ??= auth.refreshSession().finally(() => refreshing = null))
        if (error) check(null, error)
      }
      const session = await current()
      // Nothing is sent in the name of a user who has signed in meanwhile.
      const isNew = session?.user.id === rejected.user.id && session.access_token !== rejected.access_token
      return isNew ? session : null
    },
  }
}

/**
 * The id in Auth of whoever is signed in on this device, or null. Without a network supabase-js does not tell once the
 * token has expired, and tries to refresh it for half a minute first.
 */
const storedUser = async (auth: Client['auth']): Promise<string | null> => {
  const { storage, storageKey = '' } = auth as unknown as { storage?: Storage; storageKey?: string }
  try {
    return JSON.parse(`${await storage?.getItem(storageKey)}`).user.id ?? null
  } catch {
    return null
  }
}

/** Tells who is signed in on this device, also without a network, and of each change. Returns how to end it. */
export const watchUser = (auth: Client['auth'], onUser: (id: string | null) => void): () => void => {
  const stored = storedUser(auth)
  let isKnown = false
  const tellStored = (user: string | null) => {
    if (!isKnown) onUser(user)
  }
  stored.then((user) => user && tellStored(user))
  const { data: { subscription } } = auth.onAuthStateChange((event, session) => {
    if (event === 'INITIAL_SESSION' && !session) return void stored.then(tellStored)
    isKnown = true
    onUser(session?.user.id ?? null)
  })
  return () => {
    isKnown = true
    subscription.unsubscribe()
  }
}

/** The sessions of the user who opened the inbox. Calls `onEnd` when they sign out or another user signs in. */
export const openSession = (closed: AbortSignal, { auth }: Client, onEnd: () => void) => {
  let owner: string | null = null
  let resolveOwner: (id: string) => void
  const ownerKnown = new Promise<string>((resolve) => resolveOwner = resolve)
  const isOwn = (id: string): boolean => {
    resolveOwner(owner ??= id)
    return owner === id
  }
  const sessions = createSessions(auth, (session, error) => {
    // So supabase-js calls failures that may go away.
    if (error?.name === 'AuthRetryableFetchError') throw offlineError(error)
    if (error) throw new ServiceError(error.message, 401)
    if (!session) throw new ServiceError('Nobody is signed in', 401)
    if (isOwn(session.user.id)) return
    // Another tab may have changed the session before its event arrived here.
    onEnd()
    throw new ServiceError('Somebody else has signed in', 401)
  })
  // Determine the owner before anything can be sent.
  sessions.current().catch(() => {})
  onClosed(closed, watchUser(auth, (user) => user === null ? owner !== null && onEnd() : isOwn(user) || onEnd()))

  /** `owner` is the id in Auth of that user, pending until a session could be read. */
  return { ...sessions, owner: ownerKnown }
}
export type InboxSession = ReturnType<typeof openSession>
