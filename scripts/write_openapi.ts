/**
 * Writes docs/openapi.json, which joins what the functions serve at /openapi.json with docs/reference, and its types,
 * clients/openapi.ts. `--check` only compares.
 */
import openapiTypes, { astToString } from 'openapi-typescript'
import { type OperationId, reference } from '../docs/reference/index.ts'
import { tags } from '../docs/reference/tags.ts'
import packageJson from '../package.json' with { type: 'json' }
import { codeSamples } from './code_samples.ts'
import { writeOrCheck } from './write_or_check.ts'

// `npm run check` prints nothing but errors.
Deno.env.set('ACCESS_LOG', 'off')

const read = (name: string): string => Deno.readTextFileSync(new URL(`../docs/reference/${name}`, import.meta.url))
/** The answer to the example of each operation, recorded by tests/reference/examples.test.ts. */
const answers: Partial<Record<OperationId, { status: number; body?: unknown }>> = JSON.parse(read('examples.json'))

type Content = { content?: Record<string, { example?: unknown }> }
interface Operation {
  operationId: OperationId
  summary: string
  parameters: { name: string }[]
  requestBody?: Content
  responses: Record<string, Content>
}

const setExample = ({ content = {} }: Content, example: unknown): void => {
  for (const media of Object.values(content)) media.example = example
}

/** Adds what docs/reference says to an operation: tag, description and example. */
const join = (method: string, path: string, operation: Operation) => {
  const { operationId, summary, parameters, requestBody, responses, ...others } = operation
  const { tag, description, example } = reference[operationId]
  const values = Object.entries({ ...example.path, ...example.query, ...example.headers })
  const answer = example.answer ?? answers[operationId]
  if (requestBody) setExample(requestBody, example.json)
  if (answer?.body !== undefined) setExample(responses[answer.status] ?? {}, answer.body)
  return {
    operationId,
    tags: [tag],
    summary,
    description,
    ...others,
    parameters: parameters.map((parameter) => {
      const given = values.find(([name]) => name.toLowerCase() === parameter.name.toLowerCase())
      return given ? { ...parameter, example: given[1] } : parameter
    }),
    requestBody,
    responses,
    'x-codeSamples': codeSamples(method.toUpperCase(), path, example),
  }
}

const paths: Record<string, Record<string, unknown>> = {}
const components: Record<string, object> = { schemas: {}, headers: {}, responses: {}, securitySchemes: {} }
for (const name of ['auth', 'users', 'conversations', 'health', 'embed', 'notify']) {
  const { default: edgeFunction } = await import(`../functions/${name}/index.ts`)
  const response: Response = await edgeFunction.fetch(new Request(`http://localhost/${name}/openapi.json`))
  const served = await response.json()
  for (const [path, methods] of Object.entries<Record<string, Operation>>(served.paths)) {
    paths[path] = {}
    for (const [method, operation] of Object.entries(methods)) paths[path][method] = join(method, path, operation)
  }
  for (const [kind, parts] of Object.entries(components)) Object.assign(parts, served.components[kind])
}

const document = {
  openapi: '3.1.0',
  info: {
    title: 'Messaging and profiles for voyagers and locals',
    version: packageJson.version,
    description: read('introduction.md'),
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '{project}/functions/v1', variables: { project: { default: 'http://127.0.0.1:54321' } } }],
  tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
  paths,
  components,
}
const json = JSON.stringify(document, null, 2)
writeOrCheck('openapi', 'docs/openapi.json', `${json}\n`)
const types = astToString(await openapiTypes(json))
writeOrCheck('openapi', 'clients/openapi.ts', `// Generated from docs/openapi.json by npm run openapi.\n\n${types}`)
