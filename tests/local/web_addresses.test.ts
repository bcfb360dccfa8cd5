import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { webAddress } from '../../functions/_shared/validate.ts'

test('the functions and the database use the same pattern for web addresses', () => {
  // `source` escapes the slashes of a RegExp.
  const ours = webAddress.source.replaceAll('\\/', '/')
  const [, theirs] = /return value ~ '(\^https:.+)';/.exec(
    readFileSync('sql/schema/00_foundation/10_foundation.sql', 'utf8'),
  )!
  expect(ours).toBe(theirs)
  expect(webAddress.test('https://images.example/größe.png?size=2')).toBe(true)
})
