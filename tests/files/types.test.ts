import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { headSize, isOfType } from '../../functions/conversations/file_types.ts'
import { samples, strangers } from '../tools/samples.ts'

const types = Object.keys(samples)
const each = types.flatMap((type) =>
  Object.entries(samples[type]!).map(([name, bytes]) => ({ type, name, bytes: bytes.subarray(0, headSize) }))
)

test('every type that the bucket takes can be told', () => {
  const config = readFileSync('supabase/config.toml', 'utf8')
  const [, bucket] = /\[storage\.buckets\.attachments\](.*?)\n\[/s.exec(config)!
  expect([...bucket!.matchAll(/"(\w+\/\w+)"/g)].map(([, type]) => type).toSorted()).toEqual(types.toSorted())
})

test.each(each)('$type may be $name', ({ type, bytes }) => {
  expect(isOfType(bytes, type)).toBe(true)
})

describe.each(each)('$type, $name,', ({ type, name, bytes }) => {
  // Sound in a file that could hold a film is sound, so a film can be called that.
  const alsoSound = type === 'video/mp4' || name === 'recorder' ? ['audio/mp4', 'video/mp4'] : [type]
  test.each(types.filter((other) => other !== type && !alsoSound.includes(other)))('is no %s', (other) => {
    expect(isOfType(bytes, other)).toBe(false)
  })
})

test.each(Object.entries(strangers))('%s is none of them', (_, bytes) => {
  expect(types.filter((type) => isOfType(bytes, type))).toEqual([])
})

test('what is cut short is not taken for whole, nor nothing for something', () => {
  for (const { type, bytes } of each) {
    if (type !== 'text/plain') expect(isOfType(bytes.subarray(0, 2), type), type).toBe(false)
  }
  expect(types.filter((type) => isOfType(new Uint8Array(), type))).toEqual(['text/plain'])
})

test('a type that no file can be proves nothing', () => {
  for (const type of ['image/svg+xml', 'text/html', 'application/zip', '', 'constructor', '__proto__']) {
    expect(each.filter(({ bytes }) => isOfType(bytes, type))).toEqual([])
  }
})

test('one control character among thousands of words makes them no text', () => {
  const page = new TextEncoder().encode('words '.repeat(300))
  expect(isOfType(page, 'text/plain')).toBe(true)
  page[1700] = 0
  expect(isOfType(page, 'text/plain')).toBe(false)
})
