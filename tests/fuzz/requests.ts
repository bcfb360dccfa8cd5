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
    return faults(schema, JSON.parse(text))
  } catch {
    return ['the body is no JSON']
  }
}

// One of these at a time; which of them go together no schema tells.
const cursors = new Set(['before_id', 'after_id', 'order'])

/** Requests to a route that only its rights or what is there may refuse. */
const wholesomeAttempt = (operation: Operation, world: World): Arbitrary<Attempt> =>
  fc.record({
    token: tokenOf(operation, world, true),
    parameters: fc.tuple(...operation.parameters.map(({ schema, name, required }) => {
      const value = wholesome(schema, world, name)
      return required ? value : fc.option(value, { nil: undefined, freq: 1 })
    })),
    body: operation.body ? wholesome(operation.body, world) : fc.constant(undefined),
  }).map(({ token, parameters, body }) => {
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
        fc.oneof(wholesome(schema, world, name), anyValue(schema, world, name)).map(inPath)
      ),
    ),
    query: fc.array(parameter, { maxLength: inQuery.length > 0 ? 4 : 1 }),
    escape: fc.option(fc.tuple(fc.constantFrom(...names), escapes), { freq: 8 }),
    key: fc.option(fc.oneof(fc.uuid({ version: 4 }), fc.constantFrom('x', '0'.repeat(36), 'é', '{}')), { freq: 3 }),
    apikey: fc.option(fc.constantFrom(...world.keys, 'x'), { freq: 3 }),
    odd: fc.array(fc.constantFrom(...oddHeaders), { maxLength: 2 }),
    type: fc.option(fc.constantFrom(...types), { freq: 20 }),
    body: operation.body ? bodyText(operation.body, world) : fc.option(fc.constantFrom('{}', 'x'), { freq: 9 }),
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
