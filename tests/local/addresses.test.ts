import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'

type Case = [headers: Record<string, string>, settings?: Record<string, string>]
const addresses = (cases: Case[]): string[] => {
  const asked = JSON.stringify(cases.map(([headers, settings = {}]) => [headers, settings]))
  return JSON.parse(execFileSync('node_modules/.bin/deno', ['run', '-A', 'tests/local/addresses.ts', asked]).toString())
}
const forwarded = (value: string): Record<string, string> => ({ 'X-Forwarded-For': value })

describe('an address', () => {
  const written: [string, string][] = [
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['192.0.2.1:5678', '192.0.2.1'],
    ['255.255.255.255', '255.255.255.255'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['[fe80::1%25eth0.1]:80', 'fe80:0:0:0::/64'],
    ['[fe80::1%eth0]:80', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
  ]
  test.each(written.map(([text, network], index) => [text, network, index] as const))(
    '%s is %s',
    (_, network, index) => {
      expect(known[index]).toBe(network)
    },
  )
  const known = addresses(written.map(([text]) => [forwarded(text)]))
})

test('what is none is nobody’s own: all of it counts as one', () => {
  const none = [
    ...[
      '',
      ' ',
      'unknown',
      '_hidden',
      'localhost',
      'example.com',
      '1.2.3',
      '1.2.3.4.5',
      '256.1.1.1',
      '01.2.3.4',
      '1.2.3.4:',
      '1.2.3.4:x',
    ],
    ...[
      '0x7f.1.1.1',
      '2130706433',
      '1.2.3.4/32',
      '1.2.3.4 5.6.7.8',
      ':',
      '1::2::3',
      '12345::1',
      '[::1',
      '::1]',
      '[1.2.3.4',
      '[::1]x',
    ],
    ...[
      '::1%',
      `fe80::1%${'x'.repeat(33)}`,
      '::ffff:1.2.3.256',
      '<script>',
      "' or 1=1",
      `${'1'.repeat(100_000)}`,
      `::${'0'.repeat(90)}1`,
    ],
  ]
  expect(new Set(addresses(none.map((text) => [forwarded(text)])))).toEqual(new Set(['unknown']))
  expect(addresses([[{}]])).toEqual(['unknown'])
})

test('by default no header is believed but what the last proxy wrote into X-Forwarded-For', () => {
  const spoofed = { 'cf-connecting-ip': '198.51.100.1', 'x-real-ip': '198.51.100.2', forwarded: 'for=198.51.100.3' }
  expect(addresses([
    [{ ...spoofed, ...forwarded('203.0.113.7') }],
    [{ ...spoofed, ...forwarded('198.51.100.4, 203.0.113.7') }],
    [spoofed],
    [forwarded('198.51.100.4, garbage')],
  ])).toEqual(['203.0.113.7', '203.0.113.7', 'unknown', 'unknown'])
})

test('as many proxies as there are write there, and what stands further left anybody can have written', () => {
  const two = { TRUSTED_PROXIES: '2' }
  expect(addresses([
    [forwarded('198.51.100.4, 203.0.113.7, 192.0.2.1'), two],
    [forwarded('203.0.113.7, 192.0.2.1'), two],
    // Past the outer one: the inner wrote it.
    [forwarded('203.0.113.7'), two],
    [forwarded('198.51.100.4, x, 192.0.2.1'), two],
  ])).toEqual(['203.0.113.7', '203.0.113.7', '203.0.113.7', 'unknown'])
})

test('of a header that the operator named nothing but an address is believed, and no other header in its place', () => {
  const named = { CLIENT_ADDRESS_HEADER: 'CF-Connecting-IP' }
  expect(addresses([
    [{ 'cf-connecting-ip': '203.0.113.7', ...forwarded('198.51.100.4') }, named],
    [{ 'cf-connecting-ip': '2001:db8::7', ...forwarded('198.51.100.4') }, named],
    [{ 'cf-connecting-ip': 'anything at all', ...forwarded('198.51.100.4') }, named],
    [{ 'cf-connecting-ip': '203.0.113.7, 198.51.100.4' }, named],
    [forwarded('198.51.100.4'), named],
    [{}, named],
  ])).toEqual(['203.0.113.7', '2001:db8:0:0::/64', 'unknown', 'unknown', 'unknown', 'unknown'])
})
