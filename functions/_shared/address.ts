import { settings } from './settings.ts'

/** Whoever has an IPv6 address has the 2^64 of its network, so the network counts; of IPv4 it is the address. */
const networkOf = (address: string): string => {
  const plain = address.trim().replace(/^::ffff:(?=[\d.]+$)/i, '')
  if (!plain.includes(':') || !URL.canParse(`http://[${plain}]`)) return plain
  const [head = '', tail] = new URL(`http://[${plain}]`).hostname.slice(1, -1).split('::')
  const first = head.split(':').filter(Boolean)
  const last = tail?.split(':').filter(Boolean) ?? []
  const groups = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/**
 * Where a request comes from. Of `X-Forwarded-For` the client may have written all but what the proxies before the doors appended, so it is
 * counted from the right; a header that the platform sets anew each time is believed as it is.
 */
export const addressOf = (headers: Headers): string => {
  const whole = headers.get(settings.addressHeader)
  if (whole && settings.addressHeader !== 'x-forwarded-for') return networkOf(whole)
  const hops = (headers.get('x-forwarded-for') ?? '').split(',')
  return networkOf(hops.at(-settings.trustedProxies) ?? hops[0]!)
}
