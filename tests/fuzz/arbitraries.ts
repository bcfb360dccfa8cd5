import fc, { type Arbitrary } from 'fast-check'
import { resolved, type Schema } from '../tools/openapi.ts'
import type { Fixture } from './fixture.ts'

const words = ['Ana', 'Lisbon', 'hiking', 'Łódź', '東京', 'naïve', '🏔️', '-word', '"a phrase"', 'x', "O'Brien"]
/** Valid for every text field: it starts with a letter, so it is never blank, and has one line. */
const validText = (min: number, max: number): Arbitrary<string> =>
  fc.tuple(
    fc.constantFrom('a', 'Bea', 'é', '中'),
    fc.array(fc.constantFrom(...words, ' ', ',', '%', '\u200f', '\u200b')),
  ).map(([first, rest]) => [...first + rest.join('')].slice(0, max).join('').trimEnd().padEnd(min, 'z'))

const one = fc.constantFrom
const ids = (known: number[]): Arbitrary<number> =>
  fc.oneof({ weight: 4, arbitrary: one(...known) }, one(2 ** 31, 2 ** 53 - 1))
const named = (before: string, after = ''): Arbitrary<string> =>
  fc.stringMatching(/^[0-9a-f]{12}$/).map((text) => before + text + after)
const moments = (min: number, max: number): Arbitrary<string> =>
  fc.integer({ min, max }).map((hours) => new Date(Date.now() + hours * 3_600_000).toISOString())
const later = fc.oneof(fc.constant(null), moments(1001, 5000))

/** Values by field name, where the schema alone would never generate an existing id or a valid format. */
const valuesByName = (fixture: Fixture): Record<string, Arbitrary<unknown>> => ({
  email: named('f', '@example.com'),
  password: fc.string({ minLength: 8, maxLength: 20, unit: 'grapheme-ascii' }),
  image_url: named('https://images.example.com/', '.jpg?size=1#x'),
  endpoint: named('https://push.example.com/'),
  p256dh: one(`B${'A'.repeat(86)}`, `B${'_'.repeat(86)}=`),
  auth: one('A'.repeat(22), `${'-'.repeat(22)}==`),
  time_zone: one('Europe/Lisbon', 'America/Argentina/Buenos_Aires', 'UTC'),
  // Few, because a person may have ten.
  device: one('6f4aee1e-3a2c-4b5e-9e5a-0d6a1c5d8f10', '6f4aee1e-3a2c-4b5e-9e5a-0d6a1c5d8f11'),
  facets: one('interests', 'city,country', 'country,interests,city,city'),
  // A path must be that of a file that the caller has uploaded.
  url: named('https://example.com/'),
  mime_type: one('image/png', 'application/vnd.a+json'),
  interest_ids: fc.array(one(...fixture.interests), { maxLength: 12 }),
  other_user_id: ids(fixture.users),
  user_id: ids(fixture.users),
  message_id: ids(fixture.reportable),
  ...Object.fromEntries(
    ['messageId', 'up_to_message_id', 'before_id', 'after_id'].map((name) => [name, ids(fixture.messages)]),
  ),
  rid: ids(fixture.reservations),
  revision: one(1, 2),
  host_id: one(fixture.host, null),
  price: fc.integer({ min: 0, max: 10_000_000 }).map((cents) => cents / 100),
  // The schema does not say that ends_at is after date.
  date: moments(1, 1000),
  ends_at: later,
  muted_until: later,
  from: moments(-5000, 5000),
  to: moments(-5000, 5000),
  id: ids(fixture.conversations),
  profile_id: ids(fixture.profiles),
  like: ids(fixture.profiles),
  'if-none-match': one('"x"', 'W/"x", *'),
  apikey: one(...fixture.apiKeys),
  role: one('user', 'admin', undefined),
  limit: fc.integer({ min: 1, max: 150 }),
})

/** A value that the schema accepts. */
export const valid = (given: Schema, fixture: Fixture, name = ''): Arbitrary<unknown> => {
  const schema = resolved(given)
  // Quiet hours, which have the same names as the limits of a list, and end at another time than they begin.
  if (schema.pattern?.includes(':[0-5]')) {
    return name === 'from' ? one('22:00', '23:59') : one('00:00', '07:30')
  }
  // Whether mails are wanted is called email, too.
  const byName = schema.type === 'boolean' ? undefined : valuesByName(fixture)[name]
  if (byName) return byName
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((choice) => valid(choice, fixture)))
  if (schema.enum) return one(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  switch ([schema.type ?? []].flat()[0]) {
    case 'integer':
      return fc.integer({
        min: Math.max(schema.minimum ?? (schema.exclusiveMinimum ?? -1) + 1, -(2 ** 31)),
        max: Math.min(schema.maximum ?? 100_000, 2 ** 31),
      })
    case 'number':
      return fc.double({ min: schema.minimum, max: schema.maximum, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(valid(schema.items ?? {}, fixture), { maxLength: 5 })
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([key, field]) => [key, valid(field, fixture, key)]),
        ),
        { requiredKeys: [...schema.required ?? []] },
      )
    case 'string':
      return schema.format === 'uuid'
        ? fc.uuid({ version: 4 })
        : validText(schema.minLength ?? 0, schema.maxLength ?? 1000)
  }
  return fc.constant('anything')
}

const hostileValues: unknown[] = [
  ...[null, true, false, 0, -0, -1, 1, 1.5, 1e3, 1e21, 2 ** 31, 2 ** 53, -(2 ** 63), 1e300, 5e-324],
  ...['', ' ', '\u3000', '\0', 'a\0b', '\ud800', 'a\udc00', '\ufeff', '\u202e\u202d', '\u200b', '\x7f\x9f', '\r\n'],
  ...['\\', 'NaN', 'Infinity', 'null', 'undefined', '1e3', '0x10', '１２', "1' or '1'='1", '1;select 1', '%00', '%'],
  ...['${1}', '<b>', '../..', '__proto__', 'constructor', ':*', '((', '&|!', '"', "'", '-', '--', '" -', '+1', ' 1'],
  ...['x'.repeat(513), 'x'.repeat(5001), '🏔'.repeat(5001), 'é'.repeat(200), 'https://', 'https://a\u2028b'],
  ...['javascript:1', 'a@b', '@'],
  ...[[], {}, [[]], [null], { $ne: null }, { length: 1e9 }, { toString: 1 }, Array(60).fill(1), [1e300], ['1']],
]
/** Any value; tests/http/hostile.test.ts tries the limits of each field. */
export const hostile: Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: one(...hostileValues) },
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.integer(),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
)

const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
const unusualJson = [
  ...['1e3', '1e400', '-1e400', '-0', '1.0', '00', '0x10', 'NaN', '1n', '"\\ud800"', '"\\u0000"', "'a'", deep],
]
/** The text of a body with one field of any value, JSON that JSON.stringify would never write, or no JSON at all. */
export const bodyText = (schema: Schema, fixture: Fixture): Arbitrary<string> => {
  const name = one(...Object.keys(resolved(schema).properties ?? {}), 'unknown', 'role', 'is_active', 'id')
  const value = fc.oneof({ weight: 3, arbitrary: hostile.map((any) => JSON.stringify(any) ?? '') }, one(...unusualJson))
  const withOneField = fc.tuple(valid(schema, fixture), name, value).map(([good, name, json]) =>
    `${JSON.stringify(good).slice(0, -1).replace(/(.)$/s, '$1, ')}"${name}": ${json}}`
  )
  const others = [deep.slice(0, 20_000), '{', '{"__proto__": {"role": "admin"}}', '\ufeff{}', 'a=1']
  return fc.oneof(
    { weight: 9, arbitrary: withOneField },
    { weight: 2, arbitrary: value },
    fc.oneof(one(...others, `{"unknown": "${'x'.repeat(102_400)}"}`), fc.string({ unit: 'binary', maxLength: 50 })),
  )
}
