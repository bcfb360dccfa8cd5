import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { headSize, isOfType } from '../../functions/conversations/file_types.ts'
import { samples, strangers } from '../tools/samples.ts'

const types = Object.keys(samples)
const each = types.flatMap((type) =>
  Object.entries(samples[type]!).map(([name, bytes]) => ({ type, name, bytes: bytes.subarray(0, headSize) }))
)

test('every type that the bucket accepts can be detected', () => {
  const config = readFileSync('supabase/config.toml', 'utf8')
  const [, bucket] = /\[storage\.buckets\.attachments\](.*?)\n\[/s.exec(config)!
  expect([...bucket!.matchAll(/"(\w+\/\w+)"/g)].map(([, type]) => type).toSorted()).toEqual(types.toSorted())
})

test('the Supabase CLI makes the buckets as the migrations do', () => {
  const [config, schema] = [
    readFileSync('supabase/config.toml', 'utf8'),
    readFileSync('sql/schema/80_storage/10_storage.sql', 'utf8'),
  ]
  for (const bucket of ['attachments', 'avatars']) {
    const [, ofCli] = new RegExp(`^\\[storage\\.buckets\\.${bucket}\\](.*?)\\n\\[`, 'ms').exec(config)!
    const [, ofMigrations] = new RegExp(`'${bucket}', '${bucket}',.*?array\\[(.*?)\\]`, 's').exec(schema)!
    const types = (text: string) => [...text.matchAll(/["'](\w+\/[^"']+)["']/g)].map(([, type]) => type).toSorted()
    expect(types(ofCli!)).toEqual(types(ofMigrations!))
    expect(types(ofCli!).length).toBeGreaterThan(2)
  }
})

test.each(each)('$type: $name is accepted', ({ type, bytes }) => {
  expect(isOfType(bytes, type)).toBe(true)
})

describe.each(each)('$type, $name,', ({ type, name, bytes }) => {
  // An MP4 container may hold audio alone, so a video file is also accepted as audio/mp4.
  const accepted = type === 'video/mp4' || name === 'recorder' ? ['audio/mp4', 'video/mp4'] : [type]
  test.each(types.filter((other) => other !== type && !accepted.includes(other)))('is not accepted as %s', (other) => {
    expect(isOfType(bytes, other)).toBe(false)
  })
})

test.each(Object.entries(strangers))('%s is not an accepted type', (_, bytes) => {
  expect(types.filter((type) => isOfType(bytes, type))).toEqual([])
})

test('a truncated file matches no type, and an empty one only text/plain', () => {
  for (const { type, bytes } of each) {
    if (type !== 'text/plain') expect(isOfType(bytes.subarray(0, 2), type), type).toBe(false)
  }
  expect(types.filter((type) => isOfType(new Uint8Array(), type))).toEqual(['text/plain'])
})

test('an unknown type matches no file', () => {
  for (const type of ['image/svg+xml', 'text/html', 'application/zip', '', 'constructor', '__proto__']) {
    expect(each.filter(({ bytes }) => isOfType(bytes, type))).toEqual([])
  }
})

test('a text with one control character is not text/plain', () => {
  const page = new TextEncoder().encode('words '.repeat(300))
  expect(isOfType(page, 'text/plain')).toBe(true)
  page[1700] = 0
  expect(isOfType(page, 'text/plain')).toBe(false)
})
