/**
 * The path of a request, decoded once; null where two of those who read it could see two paths. Deno hands on what was written, URL folds dots and
 * backslashes, Hono and @supabase/lite decode: a guard that asks one of them says nothing of what another one serves.
 */
export const readPath = (request: Request, url: URL): string | null => {
  const written = /^[a-z]+:\/\/[^/?#\\]*([^?#]*)/i.exec(request.url)?.[1] || '/'
  if (written !== url.pathname || /%(2f|5c)/i.test(written)) return null
  try {
    const path = decodeURIComponent(written)
    // What would decode twice, and what only some would fold.
    return /[%\\?#]|\p{Cc}|\/\/|\/\.\.?(\/|$)/u.test(path) ? null : path
  } catch {
    return null
  }
}

/** Whether a path is this one or below it. */
export const isUnder = (path: string, root: string): boolean => path === root || path.startsWith(`${root}/`)
