/** What the gateway says of a request to the parts that answer it. */
export type Env = {
  Bindings: { peerAddress: string; path: string; url: URL; isDashboard: boolean; isFunction: boolean }
}

/**
 * The path of a request, decoded once; null if it is ambiguous. Deno passes the raw path, URL resolves dots and
 * backslashes, Hono and @supabase/lite decode: a check on one of these forms does not protect what another one serves.
 */
export const readPath = (request: Request, url: URL): string | null => {
  const raw = /^[a-z]+:\/\/[^/?#\\]*([^?#]*)/i.exec(request.url)?.[1] || '/'
  if (raw !== url.pathname || /%(2f|5c)/i.test(raw)) return null
  try {
    const path = decodeURIComponent(raw)
    // Reject what would decode twice, and what only some of them normalize.
    return /[%\\?#]|\p{Cc}|\/\/|\/\.\.?(\/|$)/u.test(path) ? null : path
  } catch {
    return null
  }
}

export const isUnder = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`)
