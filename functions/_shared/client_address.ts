import { log } from './log.ts'
import { settings } from './settings.ts'

const ipv4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/

/** The eight groups of an IPv6 address, or null. */
const ipv6Groups = (address: string): number[] | null => {
  if (!/^[\da-f:.]+$/i.test(address) || !URL.canParse(`http://[${address}]`)) {
    return null
  }
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const first = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  return [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last].map((group) =>
    parseInt(group, 16)
  )
}

/**
 * The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, because a subscriber has all
 * 2^64 addresses of it. Null for anything that is not an address. Accepts a port, and IPv6 brackets and zones.
 */
const parseNetwork = (value: string): string | null => {
  // The longest address has 39 characters; its zone and port have almost as many again.
  if (value.length > 80) return null
  const text = value.trim()
  const [, plain = text] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? /^([\d.]+):\d{1,5}$/.exec(text) ?? []
  if (ipv4.test(plain)) return plain
  const groups = ipv6Groups(plain.replace(/%[\w.-]{1,32}$/, ''))
  if (!groups) return null
  // ::ffff:192.0.2.1 is an IPv4 address.
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups.slice(6).flatMap((group) => [group >> 8, group & 255]).join('.')
  }
  return `${groups.slice(0, 4).map((group) => group.toString(16)).join(':')}::/64`
}

// Clients without a known address share one rate limit. The hop to the left is forgeable, and the hop to the right is
// our own proxy, which every client shares as well.
export const unknownAddress = 'unknown'
let hasWarned = false

/**
 * The address of the client. It comes from the header that the operator configured and from no other. The default,
 * X-Forwarded-For, is read from the right: the client can forge every hop but those that trusted proxies append.
 */
export const clientAddress = (headers: Headers): string => {
  const { addressHeader, trustedProxies } = settings
  const value = headers.get(addressHeader) ?? ''
  const hops = value.split(',')
  const network = parseNetwork(addressHeader === 'x-forwarded-for' ? hops.at(-trustedProxies) ?? hops[0]! : value)
  if (network === null && !hasWarned) {
    hasWarned = true
    log('warn', 'Client address unknown: set CLIENT_ADDRESS_HEADER', { header: addressHeader })
  }
  return network ?? unknownAddress
}
