import type { Hono } from 'hono'
import { z } from 'zod'

/** What a handler of a route has to say to the OpenAPI document. A response is a schema, or words for an error or an empty answer. */
export interface Documentation {
  summary?: string
  security?: Record<string, string[]>[]
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  json?: z.ZodType
  responses?: Record<number, z.ZodType | string>
}

const documented = new WeakMap<object, Documentation>()

/** Attaches documentation to a middleware, which comes back unchanged. */
export const documents = <Handler extends object>(documentation: Documentation, handler: Handler): Handler => {
  documented.set(handler, documentation)
  return handler
}

/** A middleware that only documents: `says('Send a message', { 201: message })`. */
export const route = (summary: string, responses: Documentation['responses'] = {}) =>
  documents({ summary, responses }, async (_: unknown, next: () => Promise<void>) => await next())

const errorBody = z.strictObject({ error: z.string() }).meta({ id: 'Error' })

// A schema that transforms documents what goes in where it reads a request, and strings of a URL as what they stand for.
const jsonSchema = (schema: z.ZodType, io: 'input' | 'output') => {
  const { $schema: _, ...shown } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const stands = (z.globalRegistry.get(zodSchema) as { standsFor?: object } | undefined)?.standsFor
      if (stands) {
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema]
        Object.assign(jsonSchema, stands)
      }
      delete (jsonSchema as Record<string, unknown>).standsFor
      delete (jsonSchema as Record<string, unknown>).mediaType
      delete jsonSchema.id
    },
  })
  return JSON.parse(JSON.stringify(shown).replaceAll('#/$defs/', '#/components/schemas/'))
}

const parameters = (place: 'path' | 'query' | 'header', schema?: z.ZodObject) =>
  Object.entries(schema?.shape ?? {}).map(([name, field]) => ({
    name,
    in: place,
    required: place === 'path' || !(field as z.ZodType).safeParse(undefined).success,
    schema: jsonSchema(field as z.ZodType, 'input'),
  }))

const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } } }

const mediaTypeOf = (schema: z.ZodType): string =>
  (z.globalRegistry.get(schema) as { mediaType?: string } | undefined)?.mediaType ?? 'application/json'

const answer = (status: string, response: z.ZodType | string) => {
  const described = typeof response === 'string' ? response : status < '300' ? 'Success' : 'Error'
  const schema = typeof response === 'string' ? (status >= '400' ? errorBody : undefined) : response
  return {
    description: described,
    ...(['429', '503'].includes(status) && { headers: retryAfter }),
    ...(schema && { content: { [mediaTypeOf(schema)]: { schema: jsonSchema(schema, 'output') } } }),
  }
}

const general: Documentation['responses'] = {
  400: 'A value is not allowed; the message names it',
  429: 'Too many requests; Retry-After says when to come back',
  500: 'Internal server error',
  503: 'The service is busy; Retry-After says when to come back',
}

/** The OpenAPI 3.1 document of a door, from the same schemas that check its requests. */
export const openApiDocument = (app: Hono, title: string) => {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, object> = {}
  const operations = new Map<string, Documentation & { path: string; method: string }>()
  for (const { path, method, handler } of app.routes) {
    const said = documented.get(handler)
    if (!said || method === 'ALL') continue
    const key = `${method} ${path}`
    const before = operations.get(key)
    operations.set(key, {
      ...before,
      ...said,
      path,
      method,
      responses: { ...before?.responses, ...said.responses },
    })
  }
  for (const operation of operations.values()) {
    const { path, method, summary, security, params, query, headers, json, responses } = operation
    ;(paths[path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')] ??= {})[method.toLowerCase()] = {
      summary,
      ...(security && { security }),
      parameters: [...parameters('path', params), ...parameters('query', query), ...parameters('header', headers)],
      ...(json && {
        requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(json, 'input') } } },
      }),
      responses: Object.fromEntries(
        Object.entries({ ...general, ...(json && { 413: 'Over 100 KB', 415: 'Not JSON' }), ...responses })
          .map(([status, response]) => [status, answer(status, response)]),
      ),
    }
  }
  const document = {
    openapi: '3.1.0',
    info: { title, version: '1' },
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
        secretKey: { type: 'apiKey', in: 'header', name: 'apikey' },
      },
    },
  }
  return hoist(document)
}

// z.toJSONSchema puts a schema with an id into $defs beside its first use; OpenAPI keeps them in one place.
const hoist = <Document extends { components: { schemas: Record<string, object> } }>(document: Document): Document => {
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { $defs } = node as { $defs?: Record<string, object> }
    if ($defs) {
      delete (node as { $defs?: unknown }).$defs
      Object.assign(document.components.schemas, $defs)
    }
    Object.values(node).forEach(visit)
    Object.values($defs ?? {}).forEach(visit)
  }
  visit(document)
  return document
}
