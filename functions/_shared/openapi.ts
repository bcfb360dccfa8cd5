import type { Hono } from 'hono'
import { z } from 'zod'
import type { OperationId } from '../../docs/reference/index.ts'
import { codeOf, type ErrorCode, errorCodeSchema, statuses } from './error_codes.ts'

/** Replaced by scripts/build_functions.ts. */
declare const RELEASE: string

/** Version and commit of the bundle; 'development' where the sources run as they are. */
export const release: string = typeof RELEASE === 'undefined' ? 'development' : RELEASE

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema })
const answerHeaders = {
  Allow: header('The methods that there are'),
  ETag: header('Of this answer, for If-None-Match'),
  'Idempotency-Replayed': header('The request was sent before, and this is its first answer', {
    type: 'string',
    const: 'true',
  }),
  Link: header('The next page, as `<?…>; rel="next"`, relative to the address of the request; absent on the last page'),
  'Retry-After': header('Seconds to wait', { type: 'integer', format: 'int32', minimum: 1 }),
  'WWW-Authenticate': header('Bearer, with error="invalid_token" if a token was sent'),
  'X-Request-Id': header('As sent, if it is well-formed; else a new one'),
}
type AnswerHeader = keyof typeof answerHeaders

/** A response with a schema, or with a description alone; and its headers, of which it may lack some. */
type Described = z.ZodType | string | [answer: z.ZodType | string, ...headers: AnswerHeader[]]

type Parameters = z.ZodObject<Record<string, z.ZodType>>

/** What a middleware adds to an OpenAPI operation. A response without a schema has a description only. */
export interface RouteDocs {
  operationId?: OperationId
  summary?: string
  security?: Record<string, string[]>[]
  params?: Parameters
  query?: Parameters
  headers?: Parameters
  json?: z.ZodType
  responses?: Record<number, Described>
  /** The X-Error-Codes of statuses that have several. */
  codes?: readonly ErrorCode[]
}

const docsOf = new WeakMap<object, RouteDocs>()

export const withDocs = <Handler extends object>(docs: RouteDocs, handler: Handler): Handler => {
  docsOf.set(handler, docs)
  return handler
}

/**
 * A middleware that only documents: `route('sendMessage', 'Send a message', { 201: message })`. Tag, description and
 * example are in docs/reference: every cold start would read 30 KB of them. scripts/write_openapi.ts joins both.
 */
export const route = (
  operationId: OperationId,
  summary: string,
  responses: RouteDocs['responses'],
  codes: readonly ErrorCode[] = [],
) => withDocs({ operationId, summary, responses, codes }, async (_: unknown, next: () => Promise<void>) => await next())

const errorBody = z.strictObject({ error: z.string().describe('What is wrong, in words for a developer') })
  .meta({ id: 'Error' })

type JsonSchema = Record<string, unknown> & { maximum?: number; format?: string }

/**
 * Without a format, generators take an integer for an int32 and a number for a float. A pattern beside a format that
 * they have a type for does not compile in Python. If answers excluded further properties, clients refused new ones.
 */
const suitGenerators = (schema: JsonSchema, io: 'input' | 'output'): void => {
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties
  if (schema.type === 'number') schema.format = 'double'
  if (['date-time', 'uuid'].includes(schema.format ?? '')) delete schema.pattern
  if (schema.type !== 'integer') return
  schema.format = (schema.maximum ?? Infinity) < 2 ** 31 ? 'int32' : 'int64'
  if (schema.minimum !== -Number.MAX_SAFE_INTEGER) return
  delete schema.minimum
  delete schema.maximum
}

type Meta = { jsonSchema?: object; mediaType?: string }
const metaOf = (schema: unknown): Meta => z.globalRegistry.get(schema as z.ZodType) as Meta | undefined ?? {}

// Request schemas are documented by their input. A schema that a transform hides states its JSON Schema as metadata.
const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
  const { $schema: _, ...converted } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { jsonSchema: stated } = metaOf(zodSchema)
      const written = jsonSchema as JsonSchema
      if (stated) {
        const { description } = written
        for (const key of Object.keys(written)) delete written[key]
        Object.assign(written, description && { description }, stated)
      }
      for (const key of ['jsonSchema', 'mediaType', 'id']) delete written[key]
      suitGenerators(written, io)
    },
  })
  return converted
}

/** Whether a request may come without this part. */
export const isOptional = (schema: z.ZodType): boolean => schema.safeParse(undefined).success

const parameters = (place: 'path' | 'query' | 'header', schema?: Parameters) =>
  Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, ...others } = toJsonSchema(field, 'input')
    return { name, in: place, description, required: place === 'path' || !isOptional(field), schema: others }
  })

const documentResponse = (status: number, response: Described, codes: readonly ErrorCode[] = []) => {
  const [answer, ...headers] = Array.isArray(response) ? response : [response]
  const description = typeof answer === 'string' ? answer : status < 300 ? 'Success' : 'Error'
  const schema = typeof answer === 'string' ? (status >= 400 ? errorBody : undefined) : answer
  const own = codes.filter((code) => statuses[code] === status)
  const code = header('What is wrong, for programs', {
    $ref: '#/components/schemas/ErrorCode',
    enum: own.length > 0 ? own : [codeOf(status)],
  })
  const shared = [...headers, 'X-Request-Id'].map((name) => [name, { $ref: `#/components/headers/${name}` }])
  return {
    description,
    headers: { ...Object.fromEntries(shared), ...(status >= 400 && { 'X-Error-Code': code }) },
    content: schema &&
      { [metaOf(schema).mediaType ?? 'application/json']: { schema: toJsonSchema(schema, 'output') } },
  }
}

const generalResponses: Record<number, Described> = {
  400: 'A value is not allowed; the message names it',
  405: ['Any other method', 'Allow'],
  413: 'Over 100 KB',
  415: 'Not JSON',
  429: ['Too many requests; Retry-After says when to retry', 'Retry-After'],
  500: 'Internal server error',
  503: ['The service is busy; Retry-After says when to retry', 'Retry-After'],
}

/** The responses of an operation. What it shares with others is a component of the document. */
const documentResponses = ({ json, responses, codes = [] }: RouteDocs) => {
  const { 413: _, 415: __, ...withoutBody } = generalResponses
  const all = Object.entries({ ...(json ? generalResponses : withoutBody), ...responses })
  return Object.fromEntries(all.map(([key, response]) => {
    const status = Number(key)
    const isShared = response === generalResponses[status] && !codes.some((code) => statuses[code] === status)
    const shared = { $ref: `#/components/responses/${codeOf(status)}` }
    return [key, isShared ? shared : documentResponse(status, response, codes)]
  }))
}

/** The OpenAPI 3.1 document of an Edge Function, from the schemas that validate its requests. */
export const openApiDocument = (app: Hono, title: string) => {
  const paths: Record<string, Record<string, object>> = {}
  const operations = new Map<string, RouteDocs & { path: string; method: string }>()
  for (const { path, method, handler } of app.routes) {
    const docs = docsOf.get(handler)
    if (!docs || method === 'ALL') continue
    const key = `${method} ${path}`
    const before = operations.get(key)
    // The route comes before its middlewares, and knows more about a status that both document.
    const responses = { ...docs.responses, ...before?.responses }
    const codes = [...before?.codes ?? [], ...docs.codes ?? []]
    operations.set(key, { ...before, ...docs, path, method, responses, codes })
  }
  for (const operation of operations.values()) {
    const { path, method, summary, operationId, security = [], params, query, headers, json } = operation
    ;(paths[path.replace(/:(\w+)(?:\{[^}]*?(?:\\(\.\w+))?\})?/g, '{$1}$2')] ??= {})[method.toLowerCase()] = {
      operationId,
      summary,
      security,
      parameters: [...parameters('path', params), ...parameters('query', query), ...parameters('header', headers)],
      requestBody: json && {
        required: !isOptional(json),
        content: { 'application/json': { schema: toJsonSchema(json, 'input') } },
      },
      responses: documentResponses(operation),
    }
  }
  const shared = Object.entries(generalResponses)
    .map(([key, response]) => [codeOf(Number(key)), documentResponse(Number(key), response)])
  const schemas: Record<string, unknown> = {}
  const document = {
    openapi: '3.1.0',
    info: { title, version: release },
    paths,
    components: {
      schemas: { ErrorCode: toJsonSchema(errorCodeSchema, 'output') },
      headers: answerHeaders,
      responses: Object.fromEntries(shared),
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        secretKey: { type: 'apiKey', in: 'header', name: 'apikey' },
      },
    },
  }
  // zod puts a schema with an id into $defs at its first use; OpenAPI wants all in components.schemas.
  const text = JSON.stringify(document).replaceAll('#/$defs/', '#/components/schemas/')
  const hoist = (key: string, value: object) => key === '$defs' ? void Object.assign(schemas, value) : value
  const hoisted: typeof document = JSON.parse(text, hoist)
  Object.assign(hoisted.components.schemas, schemas)
  return hoisted
}
