import { ServiceError } from './errors.ts'
import type { Client } from './types.ts'

/** The session of the user for whom the inbox was opened, and never that of a user who signs in later. */
export interface InboxSession {
  /** The id in Auth of the user for whom the inbox was opened. Pending until a session could be read. */
  readonly owner: Promise<string>
  /** The access token for one request. */
  token(): Promise<string>
  /** Refreshes the token after the service rejected this one. Concurrent calls share one refresh. */
  refresh(rejected: string): Promise<void>
  close(): void
}

// supabase-js throws this error for failures that may go away.
const isTemporary = ({ name }: Error): boolean => name === 'AuthRetryableFetchError'

/**
 * Calls `onEnd` when the user has signed out or another user has signed in, so that nothing is sent in the other user's
 * name.
 */
export const openSession = ({ auth }: Client, onEnd: () => void): InboxSession => {
  let owner: string | null = null
  let resolveOwner: (id: string) => void
  const ownerKnown = new Promise<string>((resolve) => resolveOwner = resolve)
  let refreshing: Promise<void> | null = null

  const isOwn = (session: { user: { id: string } } | null): boolean => {
    if (!session) return true
    owner ??= session.user.id
    resolveOwner(owner)
    return owner === session.user.id
  }

  const token = async (): Promise<string> => {
    const { data: { session }, error } = await auth.getSession()
    if (error) throw new ServiceError(error.message, isTemporary(error) ? 0 : 401)
    if (!session) throw new ServiceError('Nobody is signed in', 401)
    // Another tab may have changed the session before its event arrived here.
    if (isOwn(session)) return session.access_token
    onEnd()
    throw new ServiceError('Somebody else has signed in', 401)
  }

  const refreshOnce = async (rejected: string): Promise<void> => {
    if (await token() !== rejected) return
    const { error } = await auth.refreshSession()
    if (error) throw new ServiceError(error.message, isTemporary(error) ? 0 : 401)
  }

  // Determine the owner before anything can be sent.
  token().catch(() => {})
  const { data: { subscription } } = auth.onAuthStateChange((event, session) => {
    if (event === 'SIGNED_OUT' || !isOwn(session)) onEnd()
  })

  return {
    owner: ownerKnown,
    token,
    // A refresh token can be used once.
    refresh: (rejected) => refreshing ??= refreshOnce(rejected).finally(() => refreshing = null),
    close: () => subscription.unsubscribe(),
  }
}
