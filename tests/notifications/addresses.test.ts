import { expect, test } from 'vitest'
import { isPublicAddress, namesPrivateHost } from '../../functions/_shared/addresses.ts'

// deno-fmt-ignore
const publicAddresses = [
  '1.1.1.1', '8.8.8.8', '172.15.0.1', '172.32.0.1', '100.63.255.255', '100.128.0.1', '192.167.0.1',
  '2606:4700:4700::1111', '2a00:1450:4001::1', '::ffff:8.8.8.8',
]
// deno-fmt-ignore
const privateIpv4 = [
  '0.0.0.0', '0.1.2.3', '10.0.0.1', '10.255.255.255', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.255.0.9',
  '169.254.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.1', '192.0.2.1', '192.168.0.1',
  '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1', '239.1.1.1', '240.0.0.1',
  '255.255.255.255',
]
// deno-fmt-ignore
const privateIpv6 = [
  '::', '::1', '::7f00:1', '::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:a9fe:a9fe', '64:ff9b::7f00:1',
  '64:ff9b::a00:1', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '2002:a00:1::', 'fc00::1', 'fd12:3456::1',
  'fe80::1', 'fec0::1', 'ff02::1', '4000::1', '0:0:0:0:0:0:0:1', '::ffff:0:127.0.0.1',
]

test('addresses of the internet are public, and no other one is, in no notation', () => {
  expect(publicAddresses.filter((address) => !isPublicAddress(address))).toEqual([])
  const mapped = privateIpv4.map((address) => `::ffff:${address}`)
  const others = [...privateIpv4, ...mapped, ...privateIpv6, 'x', '', '1.2.3.4.5', 'localhost']
  expect(others.filter(isPublicAddress)).toEqual([])
})

test('a URL is refused if its host is such an address or name', () => {
  // deno-fmt-ignore
  const refused = [
    '127.1', '0x7f000001', '017700000001', '2130706433', '[::1]', '[::ffff:127.0.0.1]', 'localhost', 'LOCALHOST.',
    'a.localhost', 'printer.local', 'metadata.google.internal', '１２７.0.0.1',
  ]
  const allowed = ['fcm.googleapis.com', '8.8.8.8', 'locals.example', 'localhost.example']
  const isPrivate = (host: string) => namesPrivateHost(new URL(`https://${host}/x`))
  expect([refused.filter((host) => !isPrivate(host)), allowed.filter(isPrivate)]).toEqual([[], []])
})
