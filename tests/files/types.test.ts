import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { headSize, isOfType } from '../../functions/conversations/file_types.ts'
import { samples, strangers } from '../tools/samples.ts'

const types = Object.keys(samples)
const each = types.flatMap((type) =>
  Object.entries(samples[type]!).map(([name, bytes]) => ({ type, name, bytes: bytes.subarray(0, headSize) }))
)
const typesOf = (bytes: Uint8Array) => types.filter((type) => isOfType(bytes, type))

test('the Supabase CLI makes the buckets as the migrations do, and every type of theirs can be detected', () => {
  const config = readFileSync('supabase/config.toml', 'utf8')
  const schema = readFileSync('sql/schema/80_storage/10_storage.sql', 'utf8')
  for (const bucket of ['attachments', 'avatars']) {
    const ofCli = new RegExp(`^\\[storage\\.buckets\\.${bucket}\\](.*?)\\n\\[`, 'ms').exec(config)![1]!
    const ofMigrations = new RegExp(`'${bucket}', '${bucket}',.*?array\\[(.*?)\\]`, 's').exec(schema)![1]!
    const [accepted, migrated] = [ofCli, ofMigrations].map((text) =>
      [...text.matchAll(/["'](\w+\/[^"']+)["']/g)].map(([, type]) => type!).toSorted()
    ) as [string[], string[]]
    expect(accepted).toEqual(migrated)
    expect(accepted.length).toBeGreaterThan(2)
    const plain = [...new Set(accepted.map((type) => type.split(';')[0]!))]
    if (bucket === 'attachments') expect(plain).toEqual(types.toSorted())
  }
})

test.each(each)('$type: $name is of that type, and of no other', ({ type, name, bytes }) => {
  // An MP4 container may hold audio alone, so a video file is also accepted as audio/mp4.
  const both = type === 'video/mp4' || name === 'recorder'
  expect(typesOf(bytes).toSorted()).toEqual(both ? ['audio/mp4', 'video/mp4'] : [type])
  // Cut short it is of none.
  if (type !== 'text/plain') expect(isOfType(bytes.subarray(0, 2), type)).toBe(false)
  for (const unknown of ['image/svg+xml', 'text/html', 'application/zip', '', 'constructor', '__proto__']) {
    expect(isOfType(bytes, unknown)).toBe(false)
  }
})

test.each(Object.entries(strangers))('%s is not of an accepted type', (_, bytes) => expect(typesOf(bytes)).toEqual([]))

test('a text may be empty, and has no control character', () => {
  expect(typesOf(new Uint8Array())).toEqual(['text/plain'])
  const page = new TextEncoder().encode('words '.repeat(300))
  expect(typesOf(page)).toEqual(['text/plain'])
  page[1700] = 0
  expect(typesOf(page)).toEqual([])
})
