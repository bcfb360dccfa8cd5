// The protocol of our own Realtime and its filters, as tables.
import { expect, test } from 'vitest'
import { readFilter } from '../../supabase/local/realtime/filters.ts'
import { decode, encode, encodeBroadcast } from '../../supabase/local/realtime/protocol.ts'

const bytes = (hex: string): ArrayBuffer => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex')).buffer
const frame = (joinRef: string | null, ref: string | null, topic: string, event: string, payload: object = {}) => ({
  joinRef,
  ref,
  topic,
  event,
  payload: payload as Record<string, unknown>,
})
const broadcast = (joinRef: string | null, payload: unknown) =>
  frame(joinRef, '8', 'realtime:a', 'broadcast', { broadcast: { event: 'e', payload } })

// deno-fmt-ignore
test.each([
  ['["6","7","realtime:a","phx_leave",{}]', frame('6', '7', 'realtime:a', 'phx_leave')],
  ['[null,"7","phoenix","heartbeat",{}]', frame(null, '7', 'phoenix', 'heartbeat')],
  // Protocol 1.0.0.
  ['{"topic":"realtime:a","event":"broadcast","payload":{"event":"e","payload":{"x":1}},"ref":"8"}',
    broadcast(null, '{"x":1}')],
  // What supabase-js 2.119.0 sends.
  [bytes('03 01 01 0a 01 00 01 36 38 72 65 61 6c 74 69 6d 65 3a 61 65 7b 22 78 22 3a 31 7d'),
    broadcast('6', '{"x":1}')],
  [bytes('03 00 01 0a 01 00 00 38 72 65 61 6c 74 69 6d 65 3a 61 65 00 ff'), broadcast(null, new Uint8Array([0, 255]))],
])('%s is decoded', (sent, expected) => expect(decode(sent)).toEqual(expected))

// deno-fmt-ignore
test.each([
  '', 'null', '[]', '{}', '7', '"x"', '[[[[', '["6","7","realtime:a"]', '[6,7,"a","b",{}]', '{"topic":1,"event":2}',
  '[null,null,"a","broadcast",{}]',
  ...['', '03', '04 01 01 00 01 61 65', '03 ff ff ff ff ff 01 61', '03 00 00 01 01 00 01 61 65 7b',
    '03 00 00 01 00 00 01 ff 7b 7d'].map(bytes),
])('%s is no frame', (sent) => expect(decode(sent)).toBeNull())

test('frames and broadcasts are encoded in both protocols, a broadcast as bytes where they fit', () => {
  const system = frame('6', null, 'realtime:a', 'system', { status: 'ok' })
  expect(encode('2.0.0', system)).toBe('["6",null,"realtime:a","system",{"status":"ok"}]')
  const { joinRef, ...rest } = system
  expect(JSON.parse(encode('1.0.0', system))).toEqual({ ...rest, join_ref: joinRef })
  const sent = { event: 'é', payload: '{"x":1}', meta: { id: '1' } }
  expect(Buffer.from(encodeBroadcast('2.0.0', 'realtime:a', sent) as Uint8Array)).toEqual(
    Buffer.concat([Buffer.from([4, 10, 2, 10, 1]), Buffer.from('realtime:aé{"id":"1"}{"x":1}')]),
  )
  expect(JSON.parse(encodeBroadcast('1.0.0', 'realtime:a', sent) as string)).toEqual({
    ...{ join_ref: null, ref: null, topic: 'realtime:a', event: 'broadcast' },
    payload: { type: 'broadcast', event: 'é', payload: { x: 1 }, meta: { id: '1' } },
  })
  expect(encodeBroadcast('1.0.0', 'realtime:a', { event: 'e', payload: new Uint8Array(1) })).toBeNull()
  expect(encodeBroadcast('2.0.0', 'a'.repeat(256), sent)).toMatch(/^\[null,null,"a+","broadcast",/)
})

test('filters are parsed, with lists, quotes and several conditions', () => {
  const condition = (column: string, operator: string, value: unknown, not = false) => ({
    column,
    operator,
    not,
    value,
  })
  expect(readFilter('')).toEqual([])
  expect(readFilter('a=not.in.(1,"b,)",3),b=is.null,c=eq."x\\"y",d=isdistinct.null')).toEqual([
    condition('a', 'in', ['1', 'b,)', '3'], true),
    condition('b', 'is', 'null'),
    condition('c', 'eq', 'x"y'),
    condition('d', 'isdistinct', 'null'),
  ])
  const broken = [
    'a',
    'a=1',
    'a=eq',
    'a=in.1',
    'a=in.(1',
    'a=is.maybe',
    'a=is.null;',
    'a=eq."x',
    'a=match.a{9}',
    'a=eq.1,',
  ]
  expect(broken.map(readFilter)).toEqual(broken.map(() => null))
  const start = performance.now()
  for (let count = 0; count < 100; count++) expect(readFilter(`id${' '.repeat(16_000)}x`)).toBeNull()
  // 26 s with white space in the pattern of a condition, else milliseconds.
  expect(performance.now() - start).toBeLessThan(5000)
})
