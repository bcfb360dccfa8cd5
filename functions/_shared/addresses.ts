import ipaddr from 'ipaddr.js'

/** The range of public IPv6 addresses; ipaddr.js names the exceptions within it, but not all that lies outside. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** Whether this is a public address: not private, loopback, link-local or reserved. */
export const isPublicAddress = (address: string): boolean => {
  if (!ipaddr.isValid(address)) return false
  // An IPv4 address that is mapped into IPv6 counts as IPv4.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed instanceof ipaddr.IPv4 || parsed.match(globalUnicast)
}

export const isLoopback = (address: string): boolean =>
  ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'

/** The host of a URL: a name, or an address without brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '')

const localNames = /(^|\.)(localhost|local|internal|home\.arpa)\.?$/

/** Whether a URL names something that is not on the internet. What a name resolves to is checked by notify/post.ts. */
export const namesPrivateHost = (url: URL): boolean => {
  const host = hostOf(url)
  // A name of one label belongs to the network that resolves it.
  return ipaddr.isValid(host) ? !isPublicAddress(host) : localNames.test(host) || !/\.[^.]/.test(host)
}
