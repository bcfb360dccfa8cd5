import { expect, test } from 'vitest'
import { runScript } from '../tools/run_script.ts'

type Case = [headers: Record<string, string>, settings?: Record<string, string>]
const addresses = (cases: Case[]): Promise<string[]> =>
  runScript('tests/local/client_address.ts', [
    JSON.stringify(cases.map(([headers, settings = {}]) => [headers, settings])),
  ])
const forwarded = (value: string): Record<string, string> => ({ 'X-Forwarded-For': value })

const networks: Record<string, string> = {
  '192.0.2.1': '192.0.2.1',
  ' 192.0.2.1 ': '192.0.2.1',
  '192.0.2.1:5678': '192.0.2.1',
  '255.255.255.255': '255.255.255.255',
  '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
  '2001:DB8:1:2::9': '2001:db8:1:2::/64',
  '2001:0db8:0001:0002::': '2001:db8:1:2::/64',
  '[2001:db8:1:2::9]': '2001:db8:1:2::/64',
  '[2001:db8:1:2::9]:443': '2001:db8:1:2::/64',
  '::1': '0:0:0:0::/64',
  'fe80::1%eth0': 'fe80:0:0:0::/64',
  '[fe80::1%25eth0.1]:80': 'fe80:0:0:0::/64',
  '[fe80::1%eth0]:80': 'fe80:0:0:0::/64',
  '::ffff:192.0.2.1': '192.0.2.1',
  '::FFFF:c000:201': '192.0.2.1',
  '0:0:0:0:0:ffff:192.0.2.1': '192.0.2.1',
  '[::ffff:192.0.2.1]:80': '192.0.2.1',
}
test('an IPv4 address counts by itself, an IPv6 address by its /64 network', async () => {
  const found = await addresses(Object.keys(networks).map((text) => [forwarded(text)]))
  expect(Object.fromEntries(Object.keys(networks).map((text, index) => [text, found[index]]))).toEqual(networks)
})

test('values that are not addresses all count as one, "unknown"', async () => {
  const none = [
    ...['', ' ', 'unknown', '_hidden', 'localhost', 'example.com', '1.2.3', '1.2.3.4.5', '256.1.1.1', '01.2.3.4'],
    ...['1.2.3.4:', '1.2.3.4:x', '0x7f.1.1.1', '2130706433', '1.2.3.4/32', '1.2.3.4 5.6.7.8', ':', '1::2::3'],
    ...['12345::1', '[::1', '::1]', '[1.2.3.4', '[::1]x', '::1%', `fe80::1%${'x'.repeat(33)}`, '::ffff:1.2.3.256'],
    ...['<script>', "' or 1=1", '1'.repeat(100_000), `::${'0'.repeat(90)}1`],
  ]
  expect(new Set(await addresses(none.map((text) => [forwarded(text)])))).toEqual(new Set(['unknown']))
  expect(await addresses([[{}]])).toEqual(['unknown'])
})

test('by default only the last entry of X-Forwarded-For is trusted, which the proxy wrote', async () => {
  const spoofed = { 'cf-connecting-ip': '198.51.100.1', 'x-real-ip': '198.51.100.2', forwarded: 'for=198.51.100.3' }
  expect(
    await addresses([
      [{ ...spoofed, ...forwarded('203.0.113.7') }],
      [{ ...spoofed, ...forwarded('198.51.100.4, 203.0.113.7') }],
      [spoofed],
      [forwarded('198.51.100.4, garbage')],
    ]),
  ).toEqual(['203.0.113.7', '203.0.113.7', 'unknown', 'unknown'])
})

test('with TRUSTED_PROXIES so many entries of X-Forwarded-For are trusted, and none further left', async () => {
  const two = { TRUSTED_PROXIES: '2' }
  expect(
    await addresses([
      [forwarded('198.51.100.4, 203.0.113.7, 192.0.2.1'), two],
      [forwarded('203.0.113.7, 192.0.2.1'), two],
      // The request bypassed the outer proxy: the inner one wrote this.
      [forwarded('203.0.113.7'), two],
      [forwarded('198.51.100.4, x, 192.0.2.1'), two],
    ]),
  ).toEqual(['203.0.113.7', '203.0.113.7', '203.0.113.7', 'unknown'])
})

test('with CLIENT_ADDRESS_HEADER only an address in that header is trusted, and no other header', async () => {
  const named = { CLIENT_ADDRESS_HEADER: 'CF-Connecting-IP' }
  expect(
    await addresses([
      [{ 'cf-connecting-ip': '203.0.113.7', ...forwarded('198.51.100.4') }, named],
      [{ 'cf-connecting-ip': '2001:db8::7', ...forwarded('198.51.100.4') }, named],
      [{ 'cf-connecting-ip': 'anything at all', ...forwarded('198.51.100.4') }, named],
      [{ 'cf-connecting-ip': '203.0.113.7, 198.51.100.4' }, named],
      [forwarded('198.51.100.4'), named],
      [{}, named],
    ]),
  ).toEqual(['203.0.113.7', '2001:db8:0:0::/64', 'unknown', 'unknown', 'unknown', 'unknown'])
})
