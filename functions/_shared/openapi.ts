import type { Hono } from 'hono'
import { z } from 'zod'
import type { OperationId } from '../../docs/reference/index.ts'

/** What a middleware adds to an OpenAPI operation. A response without a schema has a description only. */
export interface RouteDocs {
  operationId?: OperationId
  summary?: string
  security?: Record<string, string[]>[]
  params?: z.ZodObject
  query?: z.ZodObject
  headers?: z.ZodObject
  json?: z.ZodType
  responses?: Record<number, z.ZodType | string>
}

const docsOf = new WeakMap<object, RouteDocs>()

/** Documents a middleware and returns it unchanged. */
export const withDocs = <Handler extends object>(docs: RouteDocs, handler: Handler): Handler => {
  docsOf.set(handler, docs)
  return handler
}

/**
 * A middleware that only documents: `route('sendMessage', 'Send a message', { 201: message })`. An operation's tag,
 * description and example are in docs/reference, of which a function has only the type of the ids: its bundle may have
 * 1 MB, and every cold start would read 30 KB for a document that is rarely asked for. scripts/write_openapi.ts joins
 * both; what a function serves at /openapi.json lacks them.
 */
export const route = (operationId: OperationId, summary: string, responses: RouteDocs['responses']) =>
  withDocs({ operationId, summary, responses }, async (_: unknown, next: () => Promise<void>) => await next())

const errorBody = z.strictObject({ error: z.string().describe('What is wrong, in words for a developer') })
  .meta({ id: 'Error' })

// Request schemas are documented by their input. A schema that a transform hides states its JSON Schema as metadata.
const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output') => {
  const { $schema: _, ...converted } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const meta = z.globalRegistry.get(zodSchema) as { jsonSchema?: object; examples?: unknown[] } | undefined
      if (meta?.jsonSchema) {
        const { description } = jsonSchema
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema]
        Object.assign(jsonSchema, description && { description }, meta.jsonSchema)
      }
      // zod drops the examples of a schema that transforms.
      if (meta?.examples) jsonSchema.examples = meta.examples
      delete (jsonSchema as Record<string, unknown>).jsonSchema
      delete (jsonSchema as Record<string, unknown>).mediaType
      delete jsonSchema.id
    },
  })
  return JSON.parse(JSON.stringify(converted).replaceAll('#/$defs/', '#/components/schemas/'))
}

/** Whether a request may come without this part. */
export const isOptional = (schema: z.ZodType): boolean => schema.safeParse(undefined).success

const parameters = (place: 'path' | 'query' | 'header', schema?: z.ZodObject) =>
  Object.entries(schema?.shape ?? {}).map(([name, field]) => {
    const { description, examples, ...others } = toJsonSchema(field as z.ZodType, 'input')
    return {
      name,
      in: place,
      ...(description && { description }),
      ...(examples && { example: examples[0] }),
      required: place === 'path' || !isOptional(field as z.ZodType),
      schema: others,
    }
  })

const retryAfter = { 'Retry-After': { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } } }

const mediaTypeOf = (schema: z.ZodType): string =>
  (z.globalRegistry.get(schema) as { mediaType?: string } | undefined)?.mediaType ?? 'application/json'

const documentResponse = (status: string, response: z.ZodType | string) => {
  const description = typeof response === 'string' ? response : status < '300' ? 'Success' : 'Error'
  const schema = typeof response === 'string' ? (status >= '400' ? errorBody : undefined) : response
  return {
    description,
    ...(['429', '503'].includes(status) && { headers: retryAfter }),
    ...(schema && { content: { [mediaTypeOf(schema)]: { schema: toJsonSchema(schema, 'output') } } }),
  }
}

const generalResponses: RouteDocs['responses'] = {
  400: 'A value is not allowed; the message names it',
  429: 'Too many requests; Retry-After says when to retry',
  500: 'Internal server error',
  503: 'The service is busy; Retry-After says when to retry',
}

/** The OpenAPI 3.1 document of an Edge Function, from the schemas that validate its requests. */
export const openApiDocument = (app: Hono, title: string) => {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, object> = {}
  const operations = new Map<string, RouteDocs & { path: string; method: string }>()
  for (const { path, method, handler } of app.routes) {
    const docs = docsOf.get(handler)
    if (!docs || method === 'ALL') continue
    const key = `${method} ${path}`
    const before = operations.get(key)
    // The route comes before its middlewares, and knows more about a status that both document.
    const responses = { ...docs.responses, ...before?.responses }
    operations.set(key, { ...before, ...docs, path, method, responses })
  }
  for (const operation of operations.values()) {
    const { path, method, summary, operationId, security = [], params, query, headers, json, responses } = operation
    ;(paths[path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')] ??= {})[method.toLowerCase()] = {
      operationId,
      summary,
      security,
      parameters: [...parameters('path', params), ...parameters('query', query), ...parameters('header', headers)],
      ...(json && {
        requestBody: {
          required: !isOptional(json),
          content: { 'application/json': { schema: toJsonSchema(json, 'input') } },
        },
      }),
      responses: Object.fromEntries(
        Object.entries({ ...generalResponses, ...(json && { 413: 'Over 100 KB', 415: 'Not JSON' }), ...responses })
          .map(([status, response]) => [status, documentResponse(status, response)]),
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

// z.toJSONSchema puts a schema with an id into $defs at its first use; OpenAPI wants all in components.schemas.
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
