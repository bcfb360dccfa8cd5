import fc, { type Arbitrary } from 'fast-check'
import { faults, type Operation, type Schema } from '../tools/openapi.ts'
import { anyValue, bodyText, wholesome, type World } from './arbitraries.ts'
import type { Sent } from './wire.ts'

/** A request, and what the document lets one expect of it. */
export interface Attempt extends Sent {
  /** Nothing about it is wrong, so it is not the values that may be refused. */
  wholesome: boolean
  /** What is wrong with its values, as far as the document tells. */
  wrong: string[]
}

// Deleting oneself is done by somebody who is there for it.
const fatal = new Set(['DELETE /users/me'])

const tokenOf = ({ name }: Operation, { tokens, doomed }: World, good: boolean): Arbitrary<string | undefined> => {
  const mine = fatal.has(name) ? fc.constant(doomed) : fc.constantFrom(...tokens)
  if (good) return mine
  const broken = mine.chain((token) => fc.constantFrom(`${token}x`, token.slice(0, -9), 'x', 'a.b.c'))
  return fc.oneof({ weight: 12, arbitrary: mine }, fc.constant(undefined), broken)
}

const oddHeaders: [string, string][] = [
  ['X-Request-Id', 'x'.repeat(300)],
  ['X-Request-Id', "1' or 1=1 --"],
  ['If-None-Match', '*'],
  ['If-None-Match', 'W/"x", ,'],
  ['Accept', 'text/xml;q=nan'],
  ['Accept-Encoding', 'gzip;q=2, x'],
  ['Content-Encoding', 'gzip'],
  ['Range', 'bytes=9-1'],
  ['Origin', 'null'],
  ['Cookie', 'a=b; role=service_role'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Prefer', 'count=exact, handling=strict'],
  ['X-Forwarded-For', '::1, x'],
  ['X-Forwarded-Host', 'evil.example'],
  ['Accept-Profile', 'auth'],
  ['Idempotency-Key', 'x'],
  ['X-Client-Info', '\xff\xfe'],
]

/**
 * Sometimes a value, else none: as often as the weights say. The frequency of fc.option is the other way about, and 1 is never. What is not to
 * blame shrinks to none.
 */
const perhaps = <Value>(arbitrary: Arbitrary<Value>, some: number, none: number): Arbitrary<Value | null> =>
  fc.oneof({ withCrossShrink: true }, { weight: none, arbitrary: fc.constant(null) }, { weight: some, arbitrary })

// What a route is about, where the name of its parameter does not tell.
const subjectOf = ({ path }: Operation, name: string): string =>
  name === 'id' && path.startsWith('/users/') ? 'profile_id' : name

const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
const written = (value: unknown): string => typeof value === 'string' ? value : JSON.stringify(value) ?? ''

// A path is one segment that is there: tricks that make another path of it are in tricks below.
const inPath = (value: unknown): string => encode(written(value)).replace(/^\.{0,2}$/, 'x')

const isDigits = (text: string): boolean => /^\d+$/.test(text)

/** What is wrong with a parameter, which is text wherever it stands; [] also where the document does not tell. */
const wrongWith = (schema: Schema, text: string, name: string): string[] => {
  if (schema.type !== 'integer') return faults(schema, text, name)
  if (!isDigits(text)) return [`${name} is no number`]
  // Above the maximum of a page is the maximum.
  return faults(name === 'limit' ? { ...schema, maximum: undefined } : schema, Number(text), name)
}

const wrongInBody = (schema: Schema, text: string): string[] => {
  try {
    // A mark of the byte order before JSON may be passed over, and is.
    return faults(schema, JSON.parse(text.replace(/^\ufeff/, '')))
  } catch {
    return ['the body is no JSON']
  }
}

// One of these at a time; which of them go together no schema tells.
const cursors = new Set(['before_id', 'after_id', 'order'])

const isForSecretKey = ({ name }: Operation): boolean => ['POST /embed', 'GET /health/metrics'].includes(name)

const wholesomeBody = ({ name }: Operation, schema: Schema, world: World): Arbitrary<unknown> => {
  const made = wholesome(schema, world)
  const known = world.bodies[name]
  return known ? fc.oneof(fc.constantFrom(...known), made) : made
}

/** Requests to a route that only its rights or what is there may refuse. */
const wholesomeAttempt = (operation: Operation, world: World): Arbitrary<Attempt> =>
  fc.record({
    token: tokenOf(operation, world, true),
    parameters: fc.tuple(...operation.parameters.map(({ schema, name, required }) => {
      const value = wholesome(schema, world, subjectOf(operation, name))
      return required ? value : perhaps(value, 1, 1).map((given) => given ?? undefined)
    })),
    body: operation.body ? wholesomeBody(operation, operation.body, world) : fc.constant(undefined),
    // Where nothing but the secret key is let in, a token does not help.
    secretKey: perhaps(fc.constant(world.secretKey), isForSecretKey(operation) ? 3 : 0, 1),
  }).map(({ token, parameters, body, secretKey }) => {
    const given = operation.parameters.map((parameter, place) => ({ ...parameter, value: parameters[place] }))
      .filter(({ value }) => value !== undefined && value !== '')
    const cursor = given.find(({ name }) => cursors.has(name))
    const query = given.filter((one) => one.in === 'query' && (!cursors.has(one.name) || one === cursor))
    const blank = body as { content?: string; attachment?: unknown; client_id?: unknown } | undefined
    // What a key in the header and one in the body have to do with each other, and a message with its attachment, no schema tells.
    if (operation.name.endsWith('/messages') && blank) {
      if (given.some(({ in: place }) => place === 'header')) delete blank.client_id
      if (!blank.content) blank.content = 'said'
    }
    return {
      method: operation.method,
      path: pathOf(operation, (name) => String(given.find((one) => one.in === 'path' && one.name === name)!.value)) +
        queryText(query.map(({ name, value }) => [name, encode(written(value))])),
      headers: {
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(secretKey && { apikey: secretKey }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...Object.fromEntries(
          given.filter((one) => one.in === 'header').map(({ name, value }) => [name, String(value)]),
        ),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      wholesome: true,
      wrong: [],
    }
  })

const pathOf = ({ path }: Operation, valueOf: (name: string) => string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => valueOf(name))

const queryText = (pairs: [string, string][]): string =>
  pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${encode(name)}=${value}`).join('&')}`

const types = [
  'application/json',
  'application/json',
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
]

/** Requests to a route of which any part may be wrong. */
const anyAttempt = (operation: Operation, world: World): Arbitrary<Attempt> => {
  const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query')
  const names = [...inQuery.map(({ name }) => name), 'unknown']
  const parameter = fc.constantFrom(...names).chain((name) => {
    const schema = inQuery.find((one) => one.name === name)?.schema ?? {}
    return fc.tuple(fc.constant(name), anyValue(schema, world, name).map(written))
  })
  const escapes = fc.constantFrom('%', '%zz', '%00', '%ED%A0%80', '%ff', '+', '%c0%ae', '&', '=', '%u0031')
  return fc.record({
    token: tokenOf(operation, world, false),
    path: fc.tuple(
      ...operation.parameters.filter((one) => one.in === 'path').map(({ name, schema }) =>
        fc.oneof(
          wholesome(schema, world, subjectOf(operation, name)),
          anyValue(schema, world, subjectOf(operation, name)),
        ).map(inPath)
      ),
    ),
    query: fc.array(parameter, { maxLength: inQuery.length > 0 ? 4 : 1 }),
    escape: perhaps(fc.tuple(fc.constantFrom(...names), escapes), 1, 7),
    key: perhaps(fc.oneof(fc.uuid({ version: 4 }), fc.constantFrom('x', '0'.repeat(36), 'é', '{}')), 1, 2),
    apikey: perhaps(fc.constantFrom(...world.keys, 'x'), 1, 2),
    odd: fc.array(fc.constantFrom(...oddHeaders), { maxLength: 2 }),
    type: perhaps(fc.constantFrom(...types), 19, 1),
    body: operation.body ? bodyText(operation.body, world) : perhaps(fc.constantFrom('{}', 'x'), 1, 8),
  }).map(({ token, path, query, escape, key, apikey, odd, type, body }) => {
    const places = operation.parameters.filter((one) => one.in === 'path')
    const takesKey = operation.parameters.some(({ name }) => name === 'idempotency-key')
    const sent = query.map(([name, value]): [string, string] => [name, encode(value)])
    const wrong = [
      ...places.flatMap(({ name, schema }, place) => wrongWith(schema, decodeURIComponent(path[place]!), name)),
      ...inQuery.flatMap(({ name, schema }) => {
        const values = query.filter(([given, value]) => given === name && value !== '').map(([, value]) => value)
        if (values.length > 1 && !name.startsWith('filter')) return [`${name} is repeated`]
        return values.flatMap((value) => wrongWith(schema, value.toWellFormed(), name))
      }),
      ...(takesKey && key !== null ? wrongWith({ type: 'string', format: 'uuid' }, key, 'idempotency-key') : []),
      ...(operation.body ? wrongInBody(operation.body, body ?? '') : []),
      ...(operation.body && !type?.startsWith('application/json') ? ['the body is of another type'] : []),
    ]
    return {
      method: operation.method,
      path: pathOf(operation, (name) => path[places.findIndex((one) => one.name === name)]!) +
        queryText([...sent, ...(escape ? [escape] : [])]),
      headers: {
        ...Object.fromEntries(odd),
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(type !== null && body !== null && { 'Content-Type': type }),
        ...(takesKey && key !== null && { 'Idempotency-Key': Buffer.from(key).toString('latin1') }),
        ...(apikey !== null && { apikey }),
      },
      ...(body !== null && { body }),
      wholesome: false,
      wrong: escape ? [] : wrong,
    }
  })
}

export const attempts = (operation: Operation, world: World): Arbitrary<Attempt> =>
  fc.oneof(
    { weight: 2, arbitrary: wholesomeAttempt(operation, world) },
    { weight: 3, arbitrary: anyAttempt(operation, world) },
  )
