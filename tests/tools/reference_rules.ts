type Described = { description?: string }
interface Content {
  content?: Record<string, { schema: { $ref?: string; properties?: Record<string, Described> }; example?: unknown }>
}
interface Operation extends Described {
  operationId?: string
  tags?: string[]
  summary?: string
  parameters: (Described & { name: string; in: string; required: boolean; example?: unknown })[]
  requestBody?: Content & { required: boolean }
  responses: Record<string, Content>
}
interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, { properties?: Record<string, Described> }> }
}

/** What an operation of the reference must have and lacks. */
const missingIn = (operation: Operation, schemas: Document['components']['schemas']): string[] => {
  const { parameters, requestBody, responses, tags = [] } = operation
  const body = Object.values(requestBody?.content ?? {})[0]
  const schema = body?.schema.$ref ? schemas[body.schema.$ref.split('/').at(-1)!] : body?.schema
  const answers = Object.entries(responses).filter(([status]) => status < '300').map(([, { content = {} }]) => content)
  const isAnswered = answers.flatMap(Object.values<{ example?: unknown }>).some(({ example }) => example !== undefined)
  const isEmpty = answers.every((content) => Object.keys(content).length === 0)
  return [
    ...(['operationId', 'summary', 'description'] as const).filter((field) => !operation[field]),
    ...(tags.length === 1 ? [] : ['tags']),
    ...parameters.filter(({ description }) => !description).map(({ name }) => `a description of ${name}`),
    ...parameters.filter((parameter) => parameter.in === 'path' && parameter.example === undefined)
      .map(({ name }) => `an example of ${name}`),
    ...Object.entries(schema?.properties ?? {}).filter(([, { description }]) => !description)
      .map(([name]) => `a description of ${name}`),
    ...(body && requestBody?.required && body.example === undefined ? ['an example of the request'] : []),
    ...(isAnswered || (isEmpty && answers.length > 0) ? [] : ['an example of the answer']),
  ]
}

/** What the reference lacks; empty if every operation is described and has its examples. */
export const missing = ({ paths, components }: Document): string[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      missingIn(operation, components.schemas).map((what) => `${method.toUpperCase()} ${path} lacks ${what}`)
    )
  )
