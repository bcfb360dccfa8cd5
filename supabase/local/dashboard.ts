import { randomBytes, timingSafeEqual } from 'node:crypto'
import { originOf, type Settings } from './settings.ts'

/** Who may see the dashboard: whoever came by the link of this start, which gives a cookie. */
export interface Dashboard {
  /** Null where the stack listens on no loopback address, so that nobody could use it. */
  link: string | null
  /** Whether a request comes from a page of the dashboard that was opened by the link. */
  isOpenTo: (request: Request, url: URL, peerAddress: string) => boolean
  /** `/`, as far as it is not the dashboard's own page: null where that is to be shown. */
  enter: (request: Request, url: URL, peerAddress: string) => Response | null
  /** The page that says where the link is. */
  closed: (status: 200 | 401 | 404) => Response
}

const random = (): string => randomBytes(32).toString('base64url')

/** Whether two texts are the same, in a time that tells nothing of where they differ. */
const equals = (given: string, expected: string): boolean => {
  const [one, other] = [given, expected].map((text) => new TextEncoder().encode(text))
  return one!.byteLength === other!.byteLength && timingSafeEqual(one!, other!)
}

const isLoopbackAddress = (address: string): boolean =>
  address === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/i.test(address)
const isLoopbackName = (name: string): boolean =>
  name === 'localhost' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name)

const proxyHeaders = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-IP', 'Via']

/**
 * From this machine, under one of its own names and through no proxy that says so. It proves nothing, since a proxy may add no header: the
 * cookie and the token prove, and this keeps them from being used from elsewhere, where they can only have been stolen.
 */
const isFromHere = (request: Request, url: URL, peerAddress: string): boolean => {
  const host = request.headers.get('Host')
  return isLoopbackAddress(peerAddress) && isLoopbackName(url.hostname) &&
    (host === null || URL.parse(`http://${host}`)?.host === url.host) &&
    !proxyHeaders.some((name) => request.headers.has(name))
}

/** Whether another page asks. A page on another port of this host is of the same site, and its requests carry the cookie. */
const isFromAnotherPage = (request: Request, url: URL): boolean => {
  const origin = request.headers.get('Origin')
  return (origin !== null && origin !== url.origin) ||
    ['cross-site', 'same-site'].includes(request.headers.get('Sec-Fetch-Site') ?? '')
}

const closedPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The dashboard is closed</title>
<h1>The dashboard is closed</h1>
<p>Open it by the link that <code>npm start</code> printed, on the machine that it runs on. Each start prints a new one.</p>
</html>
`

const entryPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="0; url=/">
<title>The dashboard is open</title>
<p><a href="/">The dashboard is open</a></p>
</html>
`

/** Opens the dashboard to whoever has the link of this start, and to nobody else. The port must be known by now. */
export const openDashboard = (settings: Settings): Dashboard => {
  const token = random()
  // Not the token: a cookie goes to every port of its host, so that another server here may come to see it, and an address is kept in histories.
  const session = random()
  // Cookies know no ports: two stacks on one host would take each other's place.
  const name = `dashboard_${settings.port}`
  const origin = originOf(settings)

  const hasCookie = (request: Request): boolean =>
    (request.headers.get('Cookie') ?? '').split(/; */).filter((pair) => pair.startsWith(`${name}=`))
      .some((pair) => equals(pair.slice(name.length + 1), session))

  const isOpenTo: Dashboard['isOpenTo'] = (request, url, peerAddress) =>
    hasCookie(request) && isFromHere(request, url, peerAddress) && !isFromAnotherPage(request, url)

  const closed: Dashboard['closed'] = (status) =>
    new Response(closedPage, {
      status,
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
    })

  return {
    link: isLoopbackName(new URL(origin).hostname) ? `${origin}/?token=${token}` : null,
    isOpenTo,
    closed,
    enter: (request, url, peerAddress) => {
      const given = url.searchParams.get('token')
      const isOpen = isOpenTo(request, url, peerAddress)
      if (given === null) return isOpen ? null : closed(200)
      const isRight = equals(given, token) && isFromHere(request, url, peerAddress)
      if (!isRight && !isOpen) return closed(401)
      // The token leaves the address bar, and the history with it. Whoever clicked on the link in another page, a terminal in a browser say, would
      // be redirected without the cookie, which is Strict; a page of our own takes them there with it.
      const byPage = isFromAnotherPage(request, url)
      return new Response(byPage ? entryPage : null, {
        status: byPage ? 200 : 302,
        headers: {
          ...(byPage ? { 'Content-Type': 'text/html; charset=utf-8' } : { Location: '/' }),
          'Cache-Control': 'no-store',
          ...(isRight && { 'Set-Cookie': `${name}=${session}; Path=/; HttpOnly; SameSite=Strict` }),
        },
      })
    },
  }
}
