import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { line, webAddress } from '../../functions/_shared/validate.ts'

const name = line(0, 50)
const isLine = (value: string): boolean => name.safeParse(value).success

test('the functions and the database allow the same characters in names and titles', () => {
  const codePoints = Array.from({ length: 0x10ffff }, (_, index) => index + 1)
  const allowed = (around: string) =>
    codePoints.filter((code) => isLine(`${around}${String.fromCodePoint(code)}`)).join()
  const sql = readFileSync('tests/db/users/lines.test.sql', 'utf8')
  for (const around of ['', 'a']) expect(sql).toContain(createHash('md5').update(allowed(around)).digest('hex'))
})

// deno-fmt-ignore
test.each([
  'Ana', 'José María', 'Zoe\u0301', 'Nguyễn', '李小龍', 'محمد', 'نسرین\u200cخانم', 'דוד',
  '👩‍👩‍👧', '🏴\u{e0067}\u{e007f}', 'O’Neill', '',
])('%j can be a name or a title', (value) => expect(isLine(value)).toBe(true))

// deno-fmt-ignore
test.each([
  ' ', '\t', '\u200b', '\u3164', '\u2800', '\u00ad', '\u115f\u1160', '\ufe0f', '\u{e0041}', '\u200d\u200d', '\ufeff',
  'a\u007f', 'Team\r\nYour account', 'a\u2028b', 'a\u0085b', 'a\u001bb', 'a\u202eb', 'a\u2066b', 'a\u2029',
])('%j cannot', (value) => expect(isLine(value)).toBe(false))

test('the functions and the database use the same pattern for web addresses', () => {
  const schema = readFileSync('sql/schema/00_foundation/10_foundation.sql', 'utf8')
  // `source` escapes the slashes of a RegExp.
  expect(webAddress.source.replaceAll('\\/', '/')).toBe(/return value ~ '(\^https:.+)';/.exec(schema)![1])
  expect(webAddress.test('https://images.example/größe.png?size=2')).toBe(true)
})
