import { expect, test } from 'vitest'
import { plainWords } from '../../admin/api.ts'

test.each([
  [
    'error: new row for relation "reservations" violates check constraint "price is not negative"',
    'Not saved. The rule is: price is not negative',
  ],
  [
    'conflicting key value violates exclusion constraint "accepted reservations of a host do not overlap"',
    'Not saved. The rule is: accepted reservations of a host do not overlap',
  ],
  [
    'null value in column "date" of relation "reservations" violates not-null constraint',
    'Not saved: date must not be empty',
  ],
  ['invalid input syntax for type numeric: "a \n b"', 'Not saved: “a \n b” is not a number'],
  ['permission denied for table reports', 'permission denied for table reports'],
  [
    'error: duplicate key value violates unique constraint "users_email_key"',
    'duplicate key value violates unique constraint "users_email_key"',
  ],
])('the error %j is shown as %j', (message, shown) => {
  expect(plainWords(message)).toBe(shown)
})
