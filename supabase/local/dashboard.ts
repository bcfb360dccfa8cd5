import { timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostOf, isLoopback } from '../../functions/_shared/addresses.ts'
import { random } from './data_dir.ts'
import { isLoopbackHost, originOf, type Settings } from './settings.ts'

/** Compares in constant time. */
export const equals = (given: string, expected: string): boolean => {
  const [one, other] = [given, expected].map((text) => new TextEncoder().encode(text))
  return one!.byteLength === other!.byteLength && timingSafeEqual(one!, other!)
}

const proxyHeaders = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-IP', 'Via']

/**
 * Whether a request comes from this machine, under a loopback name and without a proxy's headers. A proxy may add no
 * header, so this is no proof. The cookie and the token authorize; this keeps stolen ones from working elsewhere.
 */
export const isLocal = (request: Request, url: URL, peerAddress: string): boolean => {
  const host = request.headers.get('Host')
  return isLoopback(peerAddress) && isLoopbackHost(hostOf(url)) &&
    (host === null || URL.parse(`http://${host}`)?.host === url.host) &&
    !proxyHeaders.some((name) => request.headers.has(name))
}

/** Whether another origin sent it. A page on another port of this host is same-site: its requests carry the cookie. */
const isCrossOrigin = (request: Request, url: URL): boolean => {
  const origin = request.headers.get('Origin')
  return (origin !== null && origin !== url.origin) ||
    ['cross-site', 'same-site'].includes(request.headers.get('Sec-Fetch-Site') ?? '')
}

const frontFile = new URL('../../demo/front.html', import.meta.url)
const notices = { 200: '', 401: 'The dashboard is closed to this link.', 404: 'There is no such page here.' }

const openHtml = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=/">
<title>The dashboard is open</title>
<p><a href="/">The dashboard is open</a></p>
</html>
`

/**
 * Access to the dashboard: the link that each start prints sets a cookie. Makes the link of this start; the port in the
 * settings must be final.
 */
export const openDashboard = (settings: Settings) => {
  const token = random(32)
  // The cookie is not the token: browsers send cookies to every port of the host, so another server may see it, and
  // URLs with the token stay in the history.
  const session = random(32)
  // Cookies ignore ports; without the port in the name, two stacks on one host would overwrite each other's.
  const name = `dashboard_${settings.port}`
  const origin = originOf(settings)

  const hasCookie = (request: Request): boolean =>
    (request.headers.get('Cookie') ?? '').split(/; */).filter((pair) => pair.startsWith(`${name}=`))
      .some((pair) => equals(pair.slice(name.length + 1), session))

  /** Whether a request comes from a dashboard page that was opened with the link. */
  const isAuthorized = (request: Request, url: URL, peerAddress: string): boolean =>
    hasCookie(request) && isLocal(request, url, peerAddress) && !isCrossOrigin(request, url)

  /** The page for people that leads to all others, and says where to find the link. */
  const frontPage = (status: 200 | 401 | 404): Response => {
    const notice = notices[status] && `<p class="notice" role="alert">${notices[status]}</p>`
    return new Response(readFileSync(frontFile, 'utf8').replace('<!-- notice -->', notice), {
      status,
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
    })
  }

  const cookie = `${name}=${session}; Path=/; HttpOnly; SameSite=Strict`

  return {
    /** The cookie for an admin on this machine; null if the request is not from here, or from another origin. */
    cookieFor: (request: Request, url: URL, peerAddress: string): string | null =>
      isLocal(request, url, peerAddress) && !isCrossOrigin(request, url) ? cookie : null,
    /** The same, to end the access of this browser. */
    expiredCookie: `${name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0`,
    /** Null if the stack listens on no loopback address, where the link would not work. */
    link: isLoopbackHost(hostOf(new URL(origin))) ? `${origin}/?token=${token}` : null,
    isAuthorized,
    frontPage,
    /** Handles `/`; null means that the dashboard's own page should be served. */
    open: (request: Request, url: URL, peerAddress: string): Response | null => {
      const given = url.searchParams.get('token')
      const isOpen = isAuthorized(request, url, peerAddress)
      if (given === null) return isOpen ? null : frontPage(200)
      const isRight = equals(given, token) && isLocal(request, url, peerAddress)
      if (!isRight && !isOpen) return frontPage(401)
      // Redirect, so that the token leaves the address bar and the history. If the link was clicked in another page,
      // such as a terminal in a browser, the redirect would lack the Strict cookie, so a page of our own refreshes.
      const needsPage = isCrossOrigin(request, url)
      return new Response(needsPage ? openHtml : null, {
        status: needsPage ? 200 : 302,
        headers: {
          ...(needsPage ? { 'Content-Type': 'text/html; charset=utf-8' } : { Location: '/' }),
          'Cache-Control': 'no-store',
          ...(isRight && { 'Set-Cookie': cookie }),
        },
      })
    },
  }
}
export type Dashboard = ReturnType<typeof openDashboard>
