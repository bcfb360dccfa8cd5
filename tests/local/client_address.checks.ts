import { check, equal } from './check.ts'

/** Expects the address of each of these headers; a text stands for an X-Forwarded-For. */
const expectAddresses = async (cases: [headers: string | Record<string, string>, expected: string][]) => {
  const { clientAddress } = await import('../../functions/_shared/client_address.ts')
  for (const [headers, expected] of cases) {
    const given = new Headers(typeof headers === 'string' ? { 'X-Forwarded-For': headers } : headers)
    equal([headers, clientAddress(given)], [headers, expected])
  }
}

// deno-fmt-ignore
check('an IPv4 address counts by itself, an IPv6 address by its /64 network', {}, () => expectAddresses([
  ['192.0.2.1', '192.0.2.1'], [' 192.0.2.1 ', '192.0.2.1'], ['192.0.2.1:5678', '192.0.2.1'],
  ['255.255.255.255', '255.255.255.255'], ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'], ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'], ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['::1', '0:0:0:0::/64'], ['fe80::1%eth0', 'fe80:0:0:0::/64'], ['[fe80::1%25eth0.1]:80', 'fe80:0:0:0::/64'],
  ['[fe80::1%eth0]:80', 'fe80:0:0:0::/64'], ['::ffff:192.0.2.1', '192.0.2.1'], ['::FFFF:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'], ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
]))

// deno-fmt-ignore
const noAddresses = [
  '', ' ', 'unknown', '_hidden', 'localhost', 'example.com', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4', '1.2.3.4:',
  '1.2.3.4:x', '0x7f.1.1.1', '2130706433', '1.2.3.4/32', '1.2.3.4 5.6.7.8', ':', '1::2::3', '12345::1', '[::1', '::1]',
  '[1.2.3.4', '[::1]x', '::1%', `fe80::1%${'x'.repeat(33)}`, '::ffff:1.2.3.256', '<script>', "' or 1=1",
  '1'.repeat(100_000), `::${'0'.repeat(90)}1`, {},
]
check(
  'values that are not addresses all count as "unknown"',
  {},
  () => expectAddresses(noAddresses.map((headers) => [headers, 'unknown'])),
)

const spoofed = { 'cf-connecting-ip': '198.51.100.1', 'x-real-ip': '198.51.100.2', forwarded: 'for=198.51.100.3' }
check('by default only the last entry of X-Forwarded-For is trusted, which the proxy wrote', {}, () =>
  expectAddresses([
    [{ ...spoofed, 'x-forwarded-for': '203.0.113.7' }, '203.0.113.7'],
    [{ ...spoofed, 'x-forwarded-for': '198.51.100.4, 203.0.113.7' }, '203.0.113.7'],
    [spoofed, 'unknown'],
    ['198.51.100.4, garbage', 'unknown'],
  ]))

check(
  'of X-Forwarded-For as many entries are trusted as there are proxies',
  { TRUSTED_PROXIES: '2' },
  () =>
    expectAddresses([
      ['198.51.100.4, 203.0.113.7, 192.0.2.1', '203.0.113.7'],
      ['203.0.113.7, 192.0.2.1', '203.0.113.7'],
      // The request bypassed the outer proxy: the inner one wrote this.
      ['203.0.113.7', '203.0.113.7'],
      ['198.51.100.4, x, 192.0.2.1', 'unknown'],
    ]),
)

check(
  'only the header that the operator names is trusted',
  { CLIENT_ADDRESS_HEADER: 'CF-Connecting-IP' },
  () =>
    expectAddresses([
      [{ 'cf-connecting-ip': '203.0.113.7', 'x-forwarded-for': '198.51.100.4' }, '203.0.113.7'],
      [{ 'cf-connecting-ip': '2001:db8::7', 'x-forwarded-for': '198.51.100.4' }, '2001:db8:0:0::/64'],
      [{ 'cf-connecting-ip': 'anything at all', 'x-forwarded-for': '198.51.100.4' }, 'unknown'],
      [{ 'cf-connecting-ip': '203.0.113.7, 198.51.100.4' }, 'unknown'],
      ['198.51.100.4', 'unknown'],
      [{}, 'unknown'],
    ]),
)
