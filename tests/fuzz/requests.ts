import fc, { type Arbitrary } from 'fast-check'
import type { HttpRequest } from '../tools/http_client.ts'
import { faults as faultsOf, type Operation, parameterFaults, type Schema } from '../tools/openapi.ts'
import { anyValue, bodyText, valid } from './arbitraries.ts'
import type { Fixture } from './fixture.ts'

/** A request, with what the document says about it. */
export interface GeneratedRequest extends HttpRequest {
  /** Every value is valid, so only permissions or missing rows may cause an error. */
  valid: boolean
  /** Which values are invalid according to the document. */
  faults: string[]
}

/** Tokens that work; whoever deletes the caller needs one of their own. */
const workingToken = ({ name }: Operation, { tokens, disposableToken }: Fixture): Arbitrary<string> =>
  name === 'DELETE /users/me' ? fc.constant(disposableToken) : fc.constantFrom(...tokens)
const anyToken = (operation: Operation, fixture: Fixture): Arbitrary<string | undefined> => {
  const working = workingToken(operation, fixture)
  const broken = working.chain((token) => fc.constantFrom(`${token}x`, token.slice(0, -9), 'x', 'a.b.c'))
  return fc.oneof({ weight: 12, arbitrary: working }, fc.constant(undefined), broken)
}

// deno-fmt-ignore
const unusualHeaders: [string, string][] = [
  ['X-Request-Id', 'x'.repeat(300)], ['X-Request-Id', "1' or 1=1 --"], ['If-None-Match', '*'],
  ['If-None-Match', 'W/"x", ,'], ['Accept', 'text/xml;q=nan'], ['Accept-Encoding', 'gzip;q=2, x'],
  ['Content-Encoding', 'gzip'], ['Range', 'bytes=9-1'], ['Origin', 'null'], ['Cookie', 'a=b; role=service_role'],
  ['X-HTTP-Method-Override', 'DELETE'], ['Prefer', 'count=exact, handling=strict'], ['X-Forwarded-For', '::1, x'],
  ['X-Forwarded-Host', 'evil.example'], ['Accept-Profile', 'auth'], ['Idempotency-Key', 'x'],
  ['X-Client-Info', '\xff\xfe'],
]

/**
 * A value or null, by weight. fc.option is not used because its frequency is inverted, with 1 for never. A value that
 * does not cause the failure shrinks to null.
 */
const maybe = <Value>(arbitrary: Arbitrary<Value>, some: number, none: number): Arbitrary<Value | null> =>
  fc.oneof({ withCrossShrink: true }, { weight: none, arbitrary: fc.constant(null) }, { weight: some, arbitrary })

// The field name for valuesByName: `id` is a conversation's, except under /users.
const fieldName = ({ path }: Operation, name: string): string =>
  name === 'id' && path.startsWith('/users/') ? 'profile_id' : name
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())
const toText = (value: unknown): string => typeof value === 'string' ? value : JSON.stringify(value) ?? ''
// A parameter is one path segment: values that would change the path's structure are replaced.
const asSegment = (value: unknown): string => encode(toText(value)).replace(/^\.{0,2}$/, 'x')
const pathOf = ({ path }: Operation, values: Record<string, string>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => values[name]!)
const queryText = (pairs: [string, string][]): string =>
  pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${encode(name)}=${value}`).join('&')}`
const placed = ({ parameters }: Operation, place: string) => parameters.filter((one) => one.in === place)

const bodyFaults = (schema: Schema, text: string): string[] => {
  try {
    // A byte order mark before JSON is accepted. The role of a new user is ignored without the secret key.
    return faultsOf(schema, JSON.parse(text.replace(/^\ufeff/, ''))).filter((fault) => !fault.startsWith('body.role '))
  } catch {
    return ['the body is not JSON']
  }
}

// At most one of these; the schema does not say that they exclude each other.
const cursors = ['before_id', 'after_id', 'order']

/** Requests that only permissions or missing rows may cause to fail. */
const validRequest = (operation: Operation, fixture: Fixture): Arbitrary<GeneratedRequest> => {
  const { name, method, body: schema, needsSecretKey } = operation
  const body = schema ? valid(schema, fixture) : fc.constant(undefined)
  const known = fixture.bodies[name]
  return fc.record({
    token: workingToken(operation, fixture),
    parameters: fc.tuple(...operation.parameters.map(({ schema, name, required }) => {
      const value = valid(schema, fixture, fieldName(operation, name))
      return required ? value : maybe(value, 1, 1)
    })),
    body: known ? fc.oneof(fc.constantFrom(...known), body) : body,
    // Routes for the secret key alone do not accept a token.
    secretKey: maybe(fc.constant(fixture.secretKey), needsSecretKey ? 3 : 0, 1),
  }).map(({ token, parameters, body, secretKey }) => {
    const given = operation.parameters.map((parameter, place) => ({ ...parameter, value: parameters[place] }))
      .filter(({ value }) => value !== null && value !== undefined && value !== '')
    const cursor = given.find(({ name }) => cursors.includes(name))
    const query = given.filter((one) => one.in === 'query' && (!cursors.includes(one.name) || one === cursor))
    const inHeader = given.filter((one) => one.in === 'header')
    const message = body as Record<string, unknown> | undefined
    // The schema does not say that Idempotency-Key and client_id exclude each other, that a message needs content or an
    // attachment, and a report either a person or a message.
    if (message && inHeader.length > 0) delete message.client_id
    if (message && name.endsWith('/messages')) message.content ||= 'Hello'
    if (message && name.endsWith('/reports')) {
      if (message.message_id) delete message.user_id
      else message.user_id ??= fixture.users[0]
    }
    return {
      method,
      path: pathOf(operation, Object.fromEntries(given.map(({ name, value }) => [name, String(value)]))) +
        queryText(query.map(({ name, value }) => [name, encode(toText(value))])),
      headers: {
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(secretKey && { apikey: secretKey }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...Object.fromEntries(inHeader.map(({ name, value }) => [name, String(value)])),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...{ valid: true, faults: [] },
    }
  })
}

const types = [...Array<string>(3).fill('application/json'), 'application/json; charset=utf-8', 'text/plain']
const escapes = ['%', '%zz', '%00', '%ED%A0%80', '%ff', '+', '%c0%ae', '&', '=', '%u0031']

/** Requests of which any part may be invalid. */
const anyRequest = (operation: Operation, fixture: Fixture): Arbitrary<GeneratedRequest> => {
  const { method, body: schema, isBodyOptional } = operation
  const inPath = placed(operation, 'path')
  const inQuery = placed(operation, 'query')
  const names = [...inQuery.map(({ name }) => name), 'unknown']
  const parameter = fc.constantFrom(...names).chain((name) => {
    const schema = inQuery.find((one) => one.name === name)?.schema ?? {}
    return fc.tuple(fc.constant(name), anyValue(schema, fixture, name).map(toText))
  })
  return fc.record({
    token: anyToken(operation, fixture),
    path: fc.tuple(...inPath.map(({ name, schema }) => {
      const field = fieldName(operation, name)
      return fc.oneof(valid(schema, fixture, field), anyValue(schema, fixture, field)).map(asSegment)
    })),
    query: fc.array(parameter, { maxLength: inQuery.length > 0 ? 4 : 1 }),
    escape: maybe(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...escapes)), 1, 7),
    key: maybe(fc.oneof(fc.uuid({ version: 4 }), fc.constantFrom('x', '0'.repeat(36), 'é', '{}')), 1, 2),
    apikey: maybe(fc.constantFrom(...fixture.apiKeys, 'x'), 1, 2),
    unusual: fc.array(fc.constantFrom(...unusualHeaders), { maxLength: 2 }),
    type: maybe(fc.constantFrom(...types), 19, 1),
    body: schema ? bodyText(schema, fixture) : maybe(fc.constantFrom('{}', 'x'), 1, 8),
  }).map(({ token, path, query, escape, key, apikey, unusual, type, body }) => {
    const sentKey = placed(operation, 'header').some(({ name }) => name === 'idempotency-key') ? key : null
    const isJson = schema && !(isBodyOptional && type === null && body === '')
    const faults = [
      ...inPath.flatMap(({ name, schema }, place) => parameterFaults(schema, decodeURIComponent(path[place]!), name)),
      ...inQuery.flatMap(({ name, schema }) => {
        const values = query.filter(([given, value]) => given === name && value !== '').map(([, value]) => value)
        if (values.length > 1 && !name.startsWith('filter')) return [`${name} is repeated`]
        return values.flatMap((value) => parameterFaults(schema, value.toWellFormed(), name))
      }),
      ...sentKey === null ? [] : parameterFaults({ type: 'string', format: 'uuid' }, sentKey, 'idempotency-key'),
      ...isJson ? bodyFaults(schema, body ?? '') : [],
      ...isJson && !type?.startsWith('application/json') ? ['the body has another content type'] : [],
    ]
    const sent = query.map(([name, value]): [string, string] => [name, encode(value)])
    return {
      method,
      path: pathOf(operation, Object.fromEntries(inPath.map(({ name }, place) => [name, path[place]!]))) +
        queryText([...sent, ...escape ? [escape] : []]),
      headers: {
        ...Object.fromEntries(unusual),
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(type !== null && body !== null && { 'Content-Type': type }),
        ...(sentKey !== null && { 'Idempotency-Key': Buffer.from(sentKey).toString('latin1') }),
        ...(apikey !== null && { apikey }),
      },
      ...(body !== null && { body }),
      valid: false,
      faults: escape ? [] : faults,
    }
  })
}

export const requestsFor = (operation: Operation, fixture: Fixture): Arbitrary<GeneratedRequest> =>
  fc.oneof(
    { weight: 2, arbitrary: validRequest(operation, fixture) },
    { weight: 3, arbitrary: anyRequest(operation, fixture) },
  )
