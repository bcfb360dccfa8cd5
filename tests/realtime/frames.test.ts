import { expect, test } from 'vitest'
import { readFilter } from '../../supabase/local/realtime/filters.ts'
import { decode } from '../../supabase/local/realtime/protocol.ts'

const bytes = (hex: string): ArrayBuffer => new Uint8Array(Buffer.from(hex.replaceAll(' ', ''), 'hex')).buffer

// deno-fmt-ignore
test.each([
  '', 'null', '[]', '{}', '7', '"x"', '[[[[', '["6","7","realtime:a"]', '[6,7,"a","b",{}]', '{"topic":1,"event":2}',
  '[null,null,"a","broadcast",{}]',
  ...['', '03', '04 01 01 00 01 61 65', '03 ff ff ff ff ff 01 61', '03 00 00 01 01 00 01 61 65 7b',
    '03 00 00 01 00 00 01 ff 7b 7d'].map(bytes),
])('%s is no frame', (sent) => expect(decode(sent)).toBeNull())

test('a filter that is none is refused at once', () => {
  // deno-fmt-ignore
  const broken = [
    'a', 'a=1', 'a=eq', 'a=in.1', 'a=in.(1', 'a=in.()', 'a=is.null', 'a=like.x', 'a=not.eq.1', '=eq.1',
  ]
  expect(broken.map(readFilter)).toEqual(broken.map(() => null))
  const start = performance.now()
  for (let count = 0; count < 100; count++) expect(readFilter(`id${' '.repeat(16_000)}x`)).toBeNull()
  // 26 s with white space in the pattern of a condition, else milliseconds.
  expect(performance.now() - start).toBeLessThan(5000)
})
