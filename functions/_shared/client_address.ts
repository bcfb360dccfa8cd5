import ipaddr from 'ipaddr.js'
import { log } from './log.ts'
import { settings } from './settings.ts'

/** What counts as one client: an IPv4 address, or the /64 of an IPv6 address, of which a subscriber has all. */
const parseNetwork = (value: string): string | null => {
  // The longest address has 39 characters; its zone and port have almost as many again.
  if (value.length > 80) return null
  const text = value.trim()
  const [, plain = text] = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(text) ?? /^([\d.]+):\d{1,5}$/.exec(text) ?? []
  if (ipaddr.IPv4.isValidFourPartDecimal(plain)) return plain
  const unscoped = plain.replace(/%[\w.-]{1,32}$/, '')
  if (unscoped.includes('%') || !ipaddr.IPv6.isValid(unscoped)) return null
  const address = ipaddr.IPv6.parse(unscoped)
  if (address.isIPv4MappedAddress()) return address.toIPv4Address().toString()
  return `${address.parts.slice(0, 4).map((group) => group.toString(16)).join(':')}::/64`
}

// Clients without a known address share one rate limit: other hops are forgeable, or our own proxy, which all share.
export const unknownAddress = 'unknown'
let hasWarned = false

/**
 * The address of the client. It comes from the header that the operator configured and from no other. The default,
 * X-Forwarded-For, is read from the right: the client can forge every hop but those that trusted proxies append.
 */
export const clientAddress = (headers: Headers): string => {
  const { CLIENT_ADDRESS_HEADER: addressHeader, TRUSTED_PROXIES: trustedProxies } = settings
  const value = headers.get(addressHeader) ?? ''
  const hops = value.split(',')
  const network = parseNetwork(addressHeader === 'x-forwarded-for' ? hops.at(-trustedProxies) ?? hops[0]! : value)
  if (network === null && !hasWarned) {
    hasWarned = true
    log('warn', 'Client address unknown: set CLIENT_ADDRESS_HEADER', { header: addressHeader })
  }
  return network ?? unknownAddress
}
