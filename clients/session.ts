import { Problem } from './problem.ts'
import type { Client } from './shapes.ts'

/** Whoever is signed in as an inbox opens, and nobody who signs in after them. */
export interface OwnSession {
  /** Their token, for one request. */
  token(): Promise<string>
  /** Has this token replaced, which the service took no longer; many may find that out at once. */
  renew(refused: string): Promise<void>
  close(): void
}

type Found = { user: { id: string } } | null

// Of several names that supabase-js has for errors, the one of those that go away.
const temporary = ({ name }: Error): boolean => name === 'AuthRetryableFetchError'

/** `over` is told when they have signed out, or somebody else has signed in: what they wrote must not go out in another's name. */
export const keepSession = ({ auth }: Client, over: () => void): OwnSession => {
  let owner: string | null = null
  let renewing: Promise<void> | null = null

  const isOwn = (session: Found): boolean => {
    if (!session) return true
    owner ??= session.user.id
    return owner === session.user.id
  }

  const token = async (): Promise<string> => {
    const { data: { session }, error } = await auth.getSession()
    if (error) throw new Problem(error.message, temporary(error) ? 0 : 401)
    if (!session) throw new Problem('Nobody is signed in', 401)
    // Another tab may have changed the session, and its event is yet to come.
    if (isOwn(session)) return session.access_token
    over()
    throw new Problem('Somebody else has signed in', 401)
  }

  const renewNow = async (refused: string): Promise<void> => {
    if (await token() !== refused) return
    const { error } = await auth.refreshSession()
    if (error) throw new Problem(error.message, temporary(error) ? 0 : 401)
  }

  // Asked before anything can be written, so that what is written is the owner's.
  token().catch(() => {})
  const { data: { subscription } } = auth.onAuthStateChange((event, session) => {
    if (event === 'SIGNED_OUT' || !isOwn(session)) over()
  })

  return {
    token,
    // A refresh token is good for one use.
    renew: (refused) => renewing ??= renewNow(refused).finally(() => renewing = null),
    close: () => subscription.unsubscribe(),
  }
}
