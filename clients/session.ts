import type { Session } from '@supabase/supabase-js'
import { offlineError, ServiceError } from './errors.ts'
import type { Client } from './types.ts'

// supabase-js throws the first for failures that may go away.
const errorOf = (error: Error): ServiceError =>
  error.name === 'AuthRetryableFetchError' ? offlineError(error) : new ServiceError(error.message, 401)

/** Concurrent calls share a refresh, because a refresh token can be used once. */
export const refreshOnce = (auth: Client['auth']) => {
  let refreshing: ReturnType<typeof auth.refreshSession> | null = null
  return () => refreshing ??= auth.refreshSession().finally(() => refreshing = null)
}

interface StoringAuth {
  storage?: { getItem: (key: string) => unknown }
  storageKey?: string
}
/**
 * The id in Auth of whoever is signed in on this device, or null. Without a network supabase-js does not tell once the
 * token has expired, and tries to refresh it for half a minute first.
 */
const storedUser = async (auth: Client['auth']): Promise<string | null> => {
  const { storage, storageKey = '' } = auth as unknown as StoringAuth
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
  const tellStored = async () => {
    const user = await stored
    if (!isKnown) onUser(user)
  }
  stored.then((user) => user ? tellStored() : undefined)
  const { data: { subscription } } = auth.onAuthStateChange((event, session) => {
    if (event === 'INITIAL_SESSION' && !session) return void tellStored()
    isKnown = true
    onUser(session?.user.id ?? null)
  })
  return () => {
    isKnown = true
    subscription.unsubscribe()
  }
}

/** The session of the user who opened the inbox. Calls `onEnd` when they sign out or another user signs in. */
export const openSession = ({ auth }: Client, onEnd: () => void) => {
  let owner: string | null = null
  let resolveOwner: (id: string) => void
  const ownerKnown = new Promise<string>((resolve) => resolveOwner = resolve)
  const refresh = refreshOnce(auth)

  const isOwn = (session: { user: { id: string } } | null): boolean => {
    if (!session) return true
    owner ??= session.user.id
    resolveOwner(owner)
    return owner === session.user.id
  }

  const current = async (): Promise<Session> => {
    const { data: { session }, error } = await auth.getSession()
    if (error) throw errorOf(error)
    if (!session) throw new ServiceError('Nobody is signed in', 401)
    // Another tab may have changed the session before its event arrived here.
    if (isOwn(session)) return session
    onEnd()
    throw new ServiceError('Somebody else has signed in', 401)
  }

  // Determine the owner before anything can be sent.
  current().catch(() => {})
  storedUser(auth).then((id) => id && isOwn({ user: { id } }))
  const { data: { subscription } } = auth.onAuthStateChange((event, session) => {
    if (event === 'SIGNED_OUT' || !isOwn(session)) onEnd()
  })

  return {
    /** The id in Auth of that user. Pending until a session could be read. */
    owner: ownerKnown,
    /** The session for one request. */
    current,
    /** The user's next session after the service rejected this one's token. */
    async refreshed(rejected: Session): Promise<Session> {
      if ((await current()).access_token === rejected.access_token) {
        const { error } = await refresh()
        if (error) throw errorOf(error)
      }
      return await current()
    },
    close: () => subscription.unsubscribe(),
  }
}
export type InboxSession = ReturnType<typeof openSession>
