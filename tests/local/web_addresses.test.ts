import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

test('the functions and the database use the same pattern for web addresses', () => {
  const [, ours] = /webAddress = new RegExp\(\s*String\s*\.raw`(.+)`/.exec(
    readFileSync('functions/_shared/validate.ts', 'utf8'),
  )!
  const [, theirs] = /return value ~ '(\^https:.+)';/.exec(readFileSync('sql/schema/00_foundation.sql', 'utf8'))!
  expect(ours).toBe(theirs)
  expect(new RegExp(ours!, 'u').test('https://images.example/größe.png?size=2')).toBe(true)
})
