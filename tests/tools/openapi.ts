import { readFileSync } from 'node:fs'

/** The JSON Schema keywords in docs/openapi.json. `faults` throws for others. */
type Limit = 'minItems' | 'maxItems' | 'minimum' | 'maximum' | 'exclusiveMinimum' | 'minLength' | 'maxLength'
export interface Schema extends Partial<Record<Limit, number>> {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  propertyNames?: Schema
  items?: Schema
  pattern?: string
  format?: string
  default?: unknown
  description?: string
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

export interface Operation {
  operationId: string
  /** For example 'GET /users/{id}'. */
  name: string
  method: string
  path: string
  parameters: Parameter[]
  body?: Schema
  example?: Record<string, unknown>
  /** The response schema of each status; undefined without a body. */
  answers: Record<string, Schema | undefined>
  headers: Record<string, NonNullable<Response['headers']>>
  token: 'needed' | 'optional' | 'ignored'
  /** Whether it is for the secret key alone. */
  needsSecretKey: boolean
  samples: { label: string; source: string }[]
}

type Content = { content?: Record<string, { schema: Schema; example?: Record<string, unknown> }> }
type Response = Content & {
  $ref?: string
  headers?: Record<string, { $ref?: string; schema?: Schema }>
}
type DocumentedOperation = {
  operationId: string
  security?: object[]
  parameters: Parameter[]
  requestBody?: Content & { required: boolean }
  responses: Record<string, Response>
  'x-codeSamples': Operation['samples']
}
const document: {
  paths: Record<string, Record<string, DocumentedOperation>>
  components: { schemas: Record<string, Schema>; responses: Record<string, Response> }
} = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))

const tokenOf = (security: object[] = []): Operation['token'] => {
  if (security.length === 0) return 'ignored'
  return security.some((choice) => Object.keys(choice).length === 0) ? 'optional' : 'needed'
}

const resolvedResponse = (response: Response): Response =>
  response.$ref ? document.components.responses[response.$ref.split('/').at(-1)!]! : response

export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const { operationId, security, parameters, requestBody, responses: given, 'x-codeSamples': samples } = operation
    const responses = Object.entries(given).map(([status, response]) => [status, resolvedResponse(response)] as const)
    return {
      operationId,
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase(),
      path,
      parameters,
      body: requestBody?.content?.['application/json']?.schema,
      example: requestBody?.content?.['application/json']?.example,
      answers: Object.fromEntries(
        responses.map(([status, { content = {} }]) => [status, Object.values(content)[0]?.schema]),
      ),
      headers: Object.fromEntries(responses.map(([status, { headers = {} }]) => [status, headers])),
      token: tokenOf(security),
      needsSecretKey: security?.some((choice) => 'secretKey' in choice) ?? false,
      samples,
    }
  })
)

export const resolved = (schema: Schema): Schema =>
  schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)!]! : schema

const known = new Set([
  ...['type', 'const', 'enum', 'anyOf', 'properties', 'required', 'additionalProperties', 'items', 'minItems'],
  ...['maxItems', 'minimum', 'maximum', 'exclusiveMinimum', 'minLength', 'maxLength', 'pattern', 'format', 'default'],
  ...['description', 'examples', 'propertyNames', 'title'],
])

const typeOf = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
    ? 'array'
    : typeof value === 'number' && Number.isInteger(value)
    ? 'integer'
    : typeof value

const formats: Record<string, RegExp> = {
  uuid: /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  email: /^[^@\s]+@[^@\s]+$/,
  uri: /^[a-z][a-z\d+.-]*:/i,
}

/**
 * The violations of a schema; empty if the value conforms. Sixty lines instead of a validator from npm: our document
 * has a dozen keywords, lengths count code points, and an unknown keyword throws instead of being ignored. Readers of
 * answers must expect further properties; here an answer must not have any.
 */
export const faults = (given: Schema, value: unknown, at = 'body', isAnswer = false): string[] => {
  const schema = resolved(given)
  // Any value is allowed.
  if (Object.keys(schema).length === 0) return []
  for (const key of Object.keys(schema)) if (!known.has(key)) throw new Error(`No check for ${key} of JSON Schema`)
  if (schema.anyOf) {
    const each = schema.anyOf.map((choice) => faults(choice, value, at, isAnswer))
    return each.some((found) => found.length === 0) ? [] : each[0]!
  }
  const type = typeOf(value)
  const types = [schema.type ?? []].flat()
  if (types.length > 0 && !types.includes(type) && !(type === 'integer' && types.includes('number'))) {
    return [`${at} is of type ${type}, not ${types.join(' or ')}`]
  }
  const found: string[] = []
  const expect = (holds: boolean, fault: string) => void (holds || found.push(`${at} ${fault}`))
  if ('const' in schema) expect(value === schema.const, `is not ${JSON.stringify(schema.const)}`)
  if (schema.enum) expect(schema.enum.includes(value), `is none of ${JSON.stringify(schema.enum)}`)
  if (typeof value === 'number') {
    expect(value >= (schema.minimum ?? -Infinity), `is below ${schema.minimum}`)
    expect(!(value <= schema.exclusiveMinimum!), `is not above ${schema.exclusiveMinimum}`)
    expect(value <= (schema.maximum ?? Infinity), `is above ${schema.maximum}`)
  }
  if (typeof value === 'string') {
    const length = [...value].length
    expect(length >= (schema.minLength ?? 0), `is shorter than ${schema.minLength}`)
    expect(length <= (schema.maxLength ?? Infinity), `is longer than ${schema.maxLength}`)
    expect(value.isWellFormed() && !value.includes('\0'), 'contains NUL or a lone surrogate')
    if (schema.pattern) expect(new RegExp(schema.pattern, 'u').test(value), `does not match ${schema.pattern}`)
    const format = formats[schema.format ?? '']
    if (format) expect(format.test(value), `is no ${schema.format}`)
    if (isAnswer && schema.format === 'date-time') {
      expect(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value), 'is no timestamp with milliseconds')
    }
  }
  if (Array.isArray(value)) {
    expect(value.length >= (schema.minItems ?? 0), `has fewer than ${schema.minItems} items`)
    expect(value.length <= (schema.maxItems ?? Infinity), `has more than ${schema.maxItems} items`)
    if (schema.items) {
      value.forEach((item, index) => found.push(...faults(schema.items!, item, `${at}[${index}]`, isAnswer)))
    }
  } else if (type === 'object') {
    for (const name of schema.required ?? []) expect(Object.hasOwn(value as object, name), `lacks ${name}`)
    for (const [name, field] of Object.entries(value as object)) {
      if (schema.propertyNames) found.push(...faults(schema.propertyNames, name, `${at}: ${name}`))
      const property = Object.hasOwn(schema.properties ?? {}, name) ? schema.properties![name] : undefined
      if (property) found.push(...faults(property, field, `${at}.${name}`, isAnswer))
      else if (isAnswer) expect('additionalProperties' in schema, `has ${name}, which is not documented`)
    }
  }
  return found
}

/** As faults, of a parameter, whose value is text; empty also if the document does not say. */
export const parameterFaults = (schema: Schema, text: string, name: string): string[] => {
  if (schema.type !== 'integer') return faults(schema, text, name)
  if (!/^\d+$/.test(text)) return [`${name} is not a number`]
  // A limit above the maximum is reduced, not rejected.
  return faults(name === 'limit' ? { ...schema, maximum: undefined } : schema, Number(text), name)
}
