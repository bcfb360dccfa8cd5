import { log } from './log.ts'
import { settings } from './settings.ts'

const ipv4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/

/** The eight groups of an IPv6 address; null where it is none. */
const groupsOf = (address: string): number[] | null => {
  if (!/^[\da-f:.]+$/i.test(address) || !URL.canParse(`http://[${address}]`)) return null
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const first = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last].map((group) =>
    parseInt(group, 16)
  )
}

/**
 * What counts as one client: an IPv4 address, or the network of an IPv6 address, because whoever has one has the 2^64 of its network. Null where
 * it is no address. It may have a port, and of IPv6 brackets or a zone.
 */
export const networkOf = (written: string): string | null => {
  // The longest there is has 39 characters, its zone and port hardly as many again.
  if (written.length > 80) return null
  const text = written.trim()
  const [, plain = text] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? /^([\d.]+):\d{1,5}$/.exec(text) ?? []
  if (ipv4.test(plain)) return plain
  const groups = groupsOf(plain.replace(/%[\w.-]{1,32}$/, ''))
  if (!groups) return null
  // ::ffff:192.0.2.1 is an IPv4 address.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups.slice(6).flatMap((group) => [group >> 8, group & 255]).join('.')
  }
  return `${groups.slice(0, 4).map((group) => group.toString(16)).join(':')}::/64`
}

// All of whom it is not known share the turns of one. The hop before would be somebody's who can write what they like, and the one after is our
// own proxy, which everybody shares as well.
const unknown = 'unknown'
let hasTold = false

/**
 * Where a request comes from: what the header says that the operator named, and none but that; else what `X-Forwarded-For` says, of which the
 * client may have written all but what the proxies before the functions appended, so it is counted from the right.
 */
export const clientAddress = (headers: Headers): string => {
  const { addressHeader, trustedProxies } = settings
  const said = headers.get(addressHeader) ?? ''
  const hops = said.split(',')
  const network = networkOf(addressHeader === 'x-forwarded-for' ? hops.at(-trustedProxies) ?? hops[0]! : said)
  if (network === null && !hasTold) {
    hasTold = true
    log('warn', 'Where clients come from is not known: set CLIENT_ADDRESS_HEADER', { header: addressHeader })
  }
  return network ?? unknown
}
