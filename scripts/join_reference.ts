import { type OperationId, reference } from '../docs/reference/index.ts'
import { tags } from '../docs/reference/tags.ts'
import { type CodeSample, codeSamples } from './code_samples.ts'

/** The answer to the example of each operation, recorded by tests/reference/examples.test.ts. */
export type Answers = Record<string, { status: number; body?: unknown }>

type Content = { content?: Record<string, { example?: unknown }> }

export interface Operation {
  operationId: OperationId
  tags?: string[]
  summary: string
  description?: string
  parameters: { name: string; in: 'path' | 'query' | 'header'; description?: string; example?: unknown }[]
  requestBody?: Content
  responses: Record<string, Content>
  'x-codeSamples'?: CodeSample[]
}

export type Paths = Record<string, Record<string, Operation>>

const setExample = ({ content = {} }: Content, example: unknown): void => {
  for (const media of Object.values(content)) media.example = example
}

/** Adds tag, description and example to an operation. */
const join = (method: string, path: string, operation: Operation, answers: Answers): Operation => {
  const { operationId, summary, parameters, requestBody, responses, ...others } = operation
  const { tag, description, example } = reference[operationId]
  const given = { path: example.path, query: example.query, header: example.headers }
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
      const values = Object.entries(given[parameter.in] ?? {})
      const value = values.find(([name]) => name.toLowerCase() === parameter.name.toLowerCase())?.[1]
      return value === undefined ? parameter : { ...parameter, example: value }
    }),
    ...(requestBody && { requestBody }),
    responses,
    'x-codeSamples': codeSamples(method, path, example),
  }
}

/** Adds what docs/reference says to the paths of the functions. */
export const joinReference = (paths: Paths, answers: Answers): Paths =>
  Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, operation]) => [method, join(method, path, operation, answers)]),
      ),
    ]),
  )

export const tagList = Object.entries(tags).map(([name, description]) => ({ name, description }))
