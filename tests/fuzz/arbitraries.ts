import fc, { type Arbitrary } from 'fast-check'
import { resolved, type Schema } from '../tools/openapi.ts'

/** Existing ids, tokens and keys for requests. */
export interface Fixture {
  tokens: string[]
  users: number[]
  profiles: number[]
  conversations: number[]
  messages: number[]
  /** Messages that none of the callers has sent. */
  reportable: number[]
  interests: number[]
  reservations: number[]
  /** Takes part in all of the conversations. */
  host: number
  apiKeys: string[]
  secretKey: string
  /** Valid bodies that the schema alone cannot generate, by route. */
  bodies: Record<string, unknown[]>
  /** The token of a user whom DELETE /users/me may delete. */
  disposableToken: string
}

const ids = (known: number[]): Arbitrary<number> =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...known) }, fc.constantFrom(2 ** 31, 2 ** 53 - 1))

const words = ['Ana', 'Lisbon', 'hiking', 'Łódź', '東京', 'naïve', '🏔️', '-word', '"a phrase"', 'x', "O'Brien"]

// Valid for every text field: it starts with a letter, so it is never blank, and has one line.
const validText = (min: number, max: number): Arbitrary<string> =>
  fc.tuple(
    fc.constantFrom('a', 'Bea', 'é', '中'),
    fc.array(fc.constantFrom(...words, ' ', ',', '%', '\u200f', '\u200b')),
  )
    .map(([first, rest]) => [...first + rest.join('')].slice(0, max).join('').trimEnd().padEnd(min, 'z'))

const hoursAhead = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString()

/** Values by field name, where the schema alone would never generate an existing id or a valid format. */
const valuesByName = (name: string, fixture: Fixture): Arbitrary<unknown> | undefined => {
  const digits = fc.stringMatching(/^[0-9a-f]{12}$/)
  switch (name) {
    case 'email':
      return digits.map((text) => `f${text}@example.com`)
    case 'password':
      return fc.string({ minLength: 8, maxLength: 20, unit: 'grapheme-ascii' })
    case 'image_url':
      return digits.map((text) => `https://images.example.com/${text}.jpg?size=1#x`)
    case 'endpoint':
      return digits.map((text) => `https://push.example.com/${text}`)
    case 'p256dh':
      return fc.constantFrom(`B${'A'.repeat(86)}`, `B${'_'.repeat(86)}=`)
    case 'auth':
      return fc.constantFrom('A'.repeat(22), `${'-'.repeat(22)}==`)
    case 'time_zone':
      return fc.constantFrom('Europe/Lisbon', 'America/Argentina/Buenos_Aires', 'UTC')
    // Few, because a person may have ten.
    case 'device':
      return fc.constantFrom('6f4aee1e-3a2c-4b5e-9e5a-0d6a1c5d8f10', '6f4aee1e-3a2c-4b5e-9e5a-0d6a1c5d8f11')
    case 'facets':
      return fc.constantFrom('interests', 'city,country', 'country,interests,city,city')
    case 'url':
      return fc.oneof(digits.map((text) => `${text}/a b.png`), digits.map((text) => `https://example.com/${text}`))
    case 'mime_type':
      return fc.constantFrom('image/png', 'application/vnd.a+json')
    case 'interest_ids':
      return fc.array(fc.constantFrom(...fixture.interests), { maxLength: 12 })
    case 'other_user_id':
    case 'user_id':
      return ids(fixture.users)
    case 'message_id':
      return ids(fixture.reportable)
    case 'messageId':
    case 'up_to_message_id':
    case 'before_id':
    case 'after_id':
      return ids(fixture.messages)
    case 'rid':
      return ids(fixture.reservations)
    case 'host_id':
      return fc.constantFrom(fixture.host, null)
    case 'price':
      return fc.integer({ min: 0, max: 10_000_000 }).map((cents) => cents / 100)
    // The schema does not say that ends_at is after date.
    case 'date':
      return fc.integer({ min: 1, max: 1000 }).map((hours) => hoursAhead(hours))
    case 'ends_at':
    case 'muted_until':
      return fc.oneof(fc.constant(null), fc.integer({ min: 1001, max: 5000 }).map((hours) => hoursAhead(hours)))
    case 'from':
    case 'to':
      return fc.integer({ min: -5000, max: 5000 }).map((hours) => hoursAhead(hours))
    case 'id':
      return ids(fixture.conversations)
    case 'profile_id':
    case 'like':
      return ids(fixture.profiles)
    case 'if-none-match':
      return fc.constantFrom('"x"', 'W/"x", *')
    case 'apikey':
      return fc.constantFrom(...fixture.apiKeys)
    case 'role':
      return fc.constantFrom('user', 'admin', undefined)
    case 'limit':
      return fc.integer({ min: 1, max: 150 })
  }
}

/** A value that the schema accepts. */
export const valid = (given: Schema, fixture: Fixture, name = ''): Arbitrary<unknown> => {
  const schema = resolved(given)
  // Quiet hours, which have the same names as the limits of a list, and end at another time than they begin.
  if (schema.pattern?.includes(':[0-5]')) {
    return fc.constantFrom(...name === 'from' ? ['22:00', '23:59'] : ['00:00', '07:30'])
  }
  // Whether mails are wanted is called email, too.
  const byName = schema.type === 'boolean' ? undefined : valuesByName(name, fixture)
  if (byName) return byName
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((choice) => valid(choice, fixture)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
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
    case 'object': {
      const properties = Object.entries(schema.properties ?? {})
      return fc.record(Object.fromEntries(properties.map(([key, field]) => [key, valid(field, fixture, key)])), {
        requiredKeys: [...schema.required ?? []],
      })
    }
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
  ...['${1}', '<b>', '../..', '__proto__', 'constructor', ':*', '((', '&|!', '"', "'", '-', '--', '" -'],
  ...['x'.repeat(513), 'x'.repeat(5001), '🏔'.repeat(5001), 'é'.repeat(200), 'https://', 'https://a\u2028b'],
  ...['javascript:1', 'a@b', '@'],
  ...[[], {}, [[]], [null], { $ne: null }, { length: 1e9 }, { toString: 1 }, Array(60).fill(1), [1e300], ['1']],
]

const hostile: Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...hostileValues) },
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.integer(),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Boundary values: one below, at and above each limit of a number or a length. */
const boundaryValues = (given: Schema): Arbitrary<unknown> => {
  const schema = resolved(given)
  const limits = [schema.minimum, schema.maximum, schema.exclusiveMinimum].filter((limit) => limit !== undefined)
  const lengths = [schema.minLength, schema.maxLength].filter((limit) => limit !== undefined)
  // Other number parsers accept these.
  const lookalikes = schema.type === 'integer' ? ['1e3', '1.0', '+1', '0x10', ' 1', '１', '1_0', 'NaN', 1.5] : []
  const values = [
    ...lookalikes,
    ...limits.flatMap((limit) => [limit - 1, limit, limit + 1]),
    ...lengths.flatMap((limit) => [limit - 1, limit, limit + 1]).filter((length) => length >= 0)
      .flatMap((length) => ['w'.repeat(length), '🏔'.repeat(length)]),
  ]
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(boundaryValues))
  return values.length > 0 ? fc.constantFrom(...values) : hostile
}

/** A valid value, a boundary value or a hostile value. */
export const anyValue = (schema: Schema, fixture: Fixture, name: string): Arbitrary<unknown> =>
  fc.oneof(
    { weight: 5, arbitrary: valid(schema, fixture, name) },
    { weight: 2, arbitrary: boundaryValues(schema) },
    { weight: 2, arbitrary: hostile },
  )

const deepArray = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
const unusualJson = [
  '1e3',
  '1e400',
  '-1e400',
  '-0',
  '1.0',
  '00',
  '0x10',
  'NaN',
  '1n',
  '"\\ud800"',
  '"\\u0000"',
  "'a'",
  deepArray,
]

/** The text of a body: an object like the schema's, JSON that JSON.stringify would never write, or no JSON at all. */
export const bodyText = (schema: Schema, fixture: Fixture): Arbitrary<string> => {
  const fields = Object.entries(resolved(schema).properties ?? {})
  const names = [...fields.map(([name]) => name), 'unknown']
  const object = fc.record(
    {
      ...Object.fromEntries(fields.map(([name, field]) => [name, anyValue(field, fixture, name)])),
      unknown: hostile,
      role: hostile,
      is_active: hostile,
      id: hostile,
    },
    { requiredKeys: [] },
  )
  // All other fields are valid, so that this one is what validation rejects.
  const fault = fc.constantFrom(...names).chain((name) => {
    const field = resolved(schema).properties?.[name]
    return fc.tuple(fc.constant(name), field ? fc.oneof(boundaryValues(field), hostile) : hostile)
  })
  const withOneFault = fc.tuple(valid(schema, fixture), fault).map(([good, [name, bad]]) =>
    JSON.stringify({ ...good as object, [name]: bad })
  )
  const withUnusualJson = fc.tuple(valid(schema, fixture), fc.constantFrom(...names), fc.constantFrom(...unusualJson))
    .map(
      ([good, name, value]) => `${JSON.stringify(good).slice(0, -1).replace(/(.)$/s, '$1, ')}"${name}": ${value}}`,
    )
  return fc.oneof(
    { weight: 3, arbitrary: object.map((value) => JSON.stringify(value)) },
    { weight: 4, arbitrary: withOneFault },
    { weight: 2, arbitrary: withUnusualJson },
    hostile.map((value) => JSON.stringify(value) ?? ''),
    fc.constantFrom(
      deepArray,
      deepArray.slice(0, 20_000),
      '',
      '{',
      '{"__proto__": {"role": "admin"}}',
      '\ufeff{}',
      '\0',
      'a=1',
    ),
    fc.string({ unit: 'binary', maxLength: 50 }),
    fc.constant(`{"unknown": "${'x'.repeat(102_400)}"}`),
  )
}
