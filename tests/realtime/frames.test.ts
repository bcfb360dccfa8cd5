import { describe, expect, test } from 'vitest'
import { readFilter } from '../../supabase/local/realtime/filters.ts'
import { decode, encode, encodeBroadcast } from '../../supabase/local/realtime/protocol.ts'

const bytes = (hex: string): ArrayBuffer => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex')).buffer
const broadcast = (event: string, payload: string) => ({ broadcast: { event, payload } })

describe('decodes', () => {
  test('protocol 2.0.0', () => {
    expect(decode('["6","7","realtime:a","phx_leave",{}]'))
      .toEqual({ joinRef: '6', ref: '7', topic: 'realtime:a', event: 'phx_leave', payload: {} })
    expect(decode('[null,"7","phoenix","heartbeat",{}]'))
      .toEqual({ joinRef: null, ref: '7', topic: 'phoenix', event: 'heartbeat', payload: {} })
  })
  test('protocol 1.0.0', () => {
    expect(decode('{"topic":"realtime:a","event":"broadcast","payload":{"event":"e","payload":{"x":1}},"ref":"8"}'))
      .toEqual({
        joinRef: null,
        ref: '8',
        topic: 'realtime:a',
        event: 'broadcast',
        payload: broadcast('e', '{"x":1}'),
      })
  })
  test('the binary broadcast that supabase-js 2.119.0 sends', () => {
    const frame = '03 01 01 0a 01 00 01 36 38 72 65 61 6c 74 69 6d 65 3a 61 65 7b 22 78 22 3a 31 7d'
    expect(decode(bytes(frame)))
      .toEqual({
        joinRef: '6',
        ref: '8',
        topic: 'realtime:a',
        event: 'broadcast',
        payload: broadcast('e', '{"x":1}'),
      })
  })
  test('a binary payload', () => {
    const frame = decode(bytes('03 00 00 01 01 00 00 61 65 00 ff'))
    expect(frame?.payload).toEqual({ broadcast: { event: 'e', payload: new Uint8Array([0, 255]) } })
  })
})

test.each([
  '',
  'null',
  '[]',
  '{}',
  '7',
  '"x"',
  '[[[[',
  '["6","7","realtime:a"]',
  '[6,7,"a","b",{}]',
  '[null,null,"a","broadcast",{}]',
  '{"topic":1,"event":2}',
])('rejects the text frame %s', (text) => expect(decode(text)).toBeNull())

test.each([
  '',
  '03',
  '04 01 01 00 01 61 65',
  '03 ff ff ff ff ff 01 61',
  '03 00 00 01 01 00 01 61 65 7b',
  '03 00 00 01 00 00 01 ff 7b 7d',
])('rejects the binary frame %s', (hex) => expect(decode(bytes(hex))).toBeNull())

describe('encodes', () => {
  const frame = { joinRef: '6', ref: null, topic: 'realtime:a', event: 'system', payload: { status: 'ok' } }
  test('both protocol versions', () => {
    expect(encode('2.0.0', frame)).toBe('["6",null,"realtime:a","system",{"status":"ok"}]')
    expect(JSON.parse(encode('1.0.0', frame)))
      .toEqual({ join_ref: '6', ref: null, topic: 'realtime:a', event: 'system', payload: { status: 'ok' } })
  })
  test('broadcasts as binary in 2.0.0', () => {
    const sent = { event: 'é', payload: '{"x":1}', meta: { id: '1' } }
    const frame = encodeBroadcast('2.0.0', 'realtime:a', sent) as Uint8Array
    expect(Buffer.from(frame).toString('hex')).toBe(
      Buffer.concat([Buffer.from([4, 10, 2, 10, 1]), Buffer.from('realtime:aé{"id":"1"}{"x":1}')]).toString('hex'),
    )
    expect(JSON.parse(encodeBroadcast('1.0.0', 'realtime:a', sent) as string)).toEqual({
      join_ref: null,
      ref: null,
      topic: 'realtime:a',
      event: 'broadcast',
      payload: { type: 'broadcast', event: 'é', payload: { x: 1 }, meta: { id: '1' } },
    })
    expect(encodeBroadcast('1.0.0', 'realtime:a', { event: 'e', payload: new Uint8Array(1) })).toBeNull()
    expect(encodeBroadcast('2.0.0', 'a'.repeat(256), sent)).toMatch(/^\[null,null,"a+","broadcast",/)
  })
})

describe('filters', () => {
  const condition = (column: string, operator: string, value: unknown, not = false) => ({
    column,
    operator,
    not,
    value,
  })
  test('are parsed', () => {
    expect(readFilter('')).toEqual([])
    expect(readFilter('a=eq.1')).toEqual([condition('a', 'eq', '1')])
  })
  test('are parsed with lists, quotes and several conditions', () => {
    expect(readFilter('a=not.in.(1,"b,)",3),b=is.null,c=eq."x\\"y",d=isdistinct.null')).toEqual([
      condition('a', 'in', ['1', 'b,)', '3'], true),
      condition('b', 'is', 'null'),
      condition('c', 'eq', 'x"y'),
      condition('d', 'isdistinct', 'null'),
    ])
  })
  test.each([
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
  ])(
    'are rejected: %s',
    (text) => expect(readFilter(text)).toBeNull(),
  )
})
