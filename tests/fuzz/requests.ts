import fc, { type Arbitrary } from 'fast-check'
import type { HttpRequest } from '../tools/http_client.ts'
import { faults as faultsOf, type Operation, parameterFaults, type Schema } from '../tools/openapi.ts'
import { bodyText, hostile, valid } from './arbitraries.ts'
import type { Fixture } from './fixture.ts'

/** A request, with what the document says about it. */
export interface GeneratedRequest extends HttpRequest {
  /** Every value is valid, so only permissions or missing rows may cause an error. */
  valid: boolean
  /** Which values are invalid according to the document. */
  faults: string[]
}
/** A request before it is written down. */
interface Parts {
  token: string | undefined
  path: Record<string, string>
  query: [name: string, text: string][]
  /** A part of the query that is not well encoded, so that nobody can say what is wrong with it. */
  escape: string
  key: string | null
  headers: Record<string, string>
  type: string | null
  body: string | null
}

const one = fc.constantFrom
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
const placed = ({ parameters }: Operation, place: string) => parameters.filter((one) => one.in === place)
const takesKey = (operation: Operation) => placed(operation, 'header').some(({ name }) => name === 'idempotency-key')

const bodyFaults = (schema: Schema, text: string): string[] => {
  try {
    // A byte order mark before JSON is accepted. The role of a new user is ignored without the secret key.
    return faultsOf(schema, JSON.parse(text.replace(/^\ufeff/, ''))).filter((fault) => !fault.startsWith('body.role '))
  } catch {
    return ['the body is not JSON']
  }
}
const faultsIn = (operation: Operation, { path, query, escape, key, type, body }: Parts): string[] => {
  if (escape) return []
  const isJson = operation.body && !(operation.isBodyOptional && type === null && !body)
  return [
    ...placed(operation, 'path').flatMap(({ name, schema }) =>
      parameterFaults(schema, decodeURIComponent(path[name]!), name)
    ),
    ...placed(operation, 'query').flatMap(({ name, schema }) => {
      const values = query.filter(([given, value]) => given === name && value !== '').map(([, value]) => value)
      if (values.length > 1 && !name.startsWith('filter')) return [`${name} is repeated`]
      return values.flatMap((value) => parameterFaults(schema, value.toWellFormed(), name))
    }),
    ...key === null ? [] : parameterFaults({ type: 'string', format: 'uuid' }, key, 'idempotency-key'),
    ...isJson ? bodyFaults(operation.body!, body ?? '') : [],
    ...isJson && !type?.startsWith('application/json') ? ['the body has another content type'] : [],
  ]
}
const written = (operation: Operation, parts: Parts, valid: boolean): GeneratedRequest => {
  const { token, path, query, escape, key, headers, type, body } = parts
  const pairs = [...query.map(([name, value]) => `${encode(name)}=${encode(value)}`), ...escape ? [escape] : []]
  return {
    method: operation.method,
    path: operation.path.replace(/\{(\w+)\}/g, (_, name: string) => path[name]!) +
      (pairs[0] ? `?${pairs.join('&')}` : ''),
    headers: {
      ...headers,
      ...(token && { Authorization: `Bearer ${token}` }),
      ...(type !== null && body !== null && { 'Content-Type': type }),
      ...(key !== null && { 'Idempotency-Key': Buffer.from(key).toString('latin1') }),
    },
    ...(body !== null && { body }),
    valid,
    faults: faultsIn(operation, parts),
  }
}

// At most one of these; the schema does not say that they exclude each other.
const cursors = ['before_id', 'after_id', 'order']
/** A request that only permissions or missing rows may cause to fail. */
const validParts = (operation: Operation, fixture: Fixture): Arbitrary<Parts> => {
  const { name, body: schema, needsSecretKey } = operation
  const generated = schema ? valid(schema, fixture) : fc.constant(null)
  const known = fixture.bodies[name]
  const values = operation.parameters.map((parameter) => {
    const value = valid(parameter.schema, fixture, fieldName(operation, parameter.name))
    return (parameter.required ? value : maybe(value, 1, 1)).map((value) => ({ ...parameter, value }))
  })
  return fc.record({
    // Whoever deletes the caller needs one of their own.
    token: name === 'DELETE /users/me' ? fc.constant(fixture.disposableToken) : one(...fixture.tokens),
    given: fc.tuple(...values).map((all) => all.filter(({ value }) => value !== null && value !== '')),
    body: known ? fc.oneof(one(...known), generated) : generated,
    // Routes for the secret key alone do not accept a token.
    apikey: maybe(fc.constant(fixture.secretKey), needsSecretKey ? 3 : 0, 1),
  }).map(({ token, given, body, apikey }) => {
    const cursor = given.find(({ name }) => cursors.includes(name))
    const of = (place: string): [string, string][] =>
      given.filter((one) => one.in === place && (!cursors.includes(one.name) || one === cursor))
        .map(({ name, value }) => [name, toText(value)])
    const { 'idempotency-key': key = null, ...headers } = Object.fromEntries(of('header'))
    const message = body as Record<string, unknown> | null
    // The schema does not say that Idempotency-Key and client_id exclude each other, that a message needs content or an
    // attachment, and a report either a person or a message.
    if (message && key) delete message.client_id
    if (message && name.endsWith('/messages')) message.content ||= 'Hello'
    if (message && name.endsWith('/reports')) {
      if (message.message_id) delete message.user_id
      else message.user_id ??= fixture.users[0]
    }
    return {
      token,
      ...{ path: Object.fromEntries(of('path')), query: of('query'), escape: '', key, type: 'application/json' },
      headers: { ...headers, ...(apikey && { apikey }) },
      body: body === null ? null : JSON.stringify(body),
    }
  })
}

// deno-fmt-ignore
const unusualHeaders: [string, string][] = [
  ['X-Request-Id', 'x'.repeat(300)], ['X-Request-Id', "1' or 1=1 --"], ['If-None-Match', '*'],
  ['If-None-Match', 'W/"x", ,'], ['Accept', 'text/xml;q=nan'], ['Accept-Encoding', 'gzip;q=2, x'],
  ['Content-Encoding', 'gzip'], ['Range', 'bytes=9-1'], ['Origin', 'null'], ['Cookie', 'a=b; role=service_role'],
  ['X-HTTP-Method-Override', 'DELETE'], ['Prefer', 'count=exact, handling=strict'], ['X-Forwarded-For', '::1, x'],
  ['X-Forwarded-Host', 'evil.example'], ['Accept-Profile', 'auth'], ['X-Client-Info', '\xff\xfe'],
]
const escapes = ['%', '%zz', '%00', '%ED%A0%80', '%ff', '+', '%c0%ae', '&', '=', '%u0031']

type Change = (parts: Parts) => Partial<Parts>
/** What makes a part of a request unusual or invalid. */
const changes = (operation: Operation, fixture: Fixture): Arbitrary<Change> => {
  const parameter = (place: string) =>
    fc.tuple(one(...placed(operation, place).map(({ name }) => name), 'unknown'), hostile)
  const inPath = parameter('path')
  const inQuery = parameter('query')
  const header = fc.oneof(one(...unusualHeaders), fc.tuple(fc.constant('apikey'), one(...fixture.apiKeys, 'x')))
  const body = operation.body ? bodyText(operation.body, fixture) : one('{}', 'x')
  const setPath = inPath.map(([name, value]): Change => ({ path }) => ({ path: { ...path, [name]: asSegment(value) } }))
  const setQuery = inQuery.map(([name, value]): Change => ({ query }) => ({ query: [...query, [name, toText(value)]] }))
  // deno-fmt-ignore
  const all: [weight: number, arbitrary: Arbitrary<Change>][] = [
    [1, one(undefined, 'x', 'a.b.c').map((token) => () => ({ token }))],
    [1, one(-9, -1).map((end) => ({ token }) => ({ token: token?.slice(0, end) }))],
    [placed(operation, 'path').length > 0 ? 4 : 0, setPath],
    [placed(operation, 'query').length > 0 ? 4 : 1, setQuery],
    [1, fc.tuple(inQuery, one(...escapes)).map(([[name], text]) => () => ({ escape: `${name}=${text}` }))],
    [takesKey(operation) ? 1 : 0, one('x', '0'.repeat(36), 'é', '{}').map((key) => () => ({ key }))],
    [1, header.map(([name, value]) => ({ headers }) => ({ headers: { ...headers, [name]: value } }))],
    [1, one('text/plain', 'application/json; charset=utf-8', null).map((type) => () => ({ type }))],
    [operation.body ? 5 : 1, body.map((body) => () => ({ body }))],
  ]
  return fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

export const requestsFor = (operation: Operation, fixture: Fixture): Arbitrary<GeneratedRequest> => {
  const valid = validParts(operation, fixture)
  const changed = fc.tuple(valid, fc.array(changes(operation, fixture), { minLength: 1, maxLength: 3 }))
    .map(([parts, all]) => all.reduce((changed, change) => ({ ...changed, ...change(changed) }), parts))
  return fc.oneof(
    { weight: 2, arbitrary: valid.map((parts) => written(operation, parts, true)) },
    { weight: 3, arbitrary: changed.map((parts) => written(operation, parts, false)) },
  )
}
