import { createConfig, lintFromString } from '@redocly/openapi-core'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { missing } from '../tools/reference_rules.ts'

const text = readFileSync('docs/openapi.json', 'utf8')

const lint = async (source: string): Promise<string[]> => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return problems.map(({ ruleId, message, location }) => `${location[0]?.pointer}: ${ruleId}: ${message}`)
}

test("Redocly's recommended rules find nothing", async () => {
  expect(await lint(text)).toEqual([])
})

test('an example that does not conform to its schema is found', async () => {
  const document = JSON.parse(text)
  document.paths['/conversations/{id}/messages'].post.requestBody.content['application/json'].example.content = 7
  document.paths['/users/interests'].get.responses['200'].content['application/json'].example[0].id = 'one'
  expect(await lint(JSON.stringify(document))).toEqual([
    expect.stringContaining('no-invalid-media-type-examples'),
    expect.stringContaining('no-invalid-media-type-examples'),
  ])
})

// Each of these broke a generated client or made a validator refuse what is valid.
const unsuitable = (node: unknown, at = ''): string[] => {
  if (typeof node !== 'object' || node === null) return []
  const schema = node as Record<string, unknown>
  const isSchema = typeof schema.type === 'string'
  return [
    ...(isSchema && ['integer', 'number'].includes(schema.type as string) && !schema.format
      ? [`${at} has no format`]
      : []),
    // What a request may not have, a generated client need not be able to say.
    ...(schema.additionalProperties === false && !at.includes('requestBody') ? [`${at} excludes properties`] : []),
    ...('multipleOf' in schema ? [`${at} has multipleOf`] : []),
    ...Object.entries(schema).flatMap(([key, value]) =>
      ['example', 'examples'].includes(key) ? [] : unsuitable(value, `${at}/${key}`)
    ),
  ]
}

test('generators get formats, one type for each enum of answers, and answers that may grow', () => {
  const { components, paths } = JSON.parse(text)
  expect(unsuitable(components.schemas)).toEqual([])
  expect(unsuitable(paths)).toEqual([])
  const enums = Object.values(components.schemas).map((schema) => JSON.stringify((schema as { enum?: [] }).enum))
  const isNamed = (values: unknown) => enums.includes(JSON.stringify(values))
  const answers = JSON.stringify(components.schemas)
  expect(
    [...answers.matchAll(/"enum":(\[[^\]]*\])/g)].filter(([, values]) => !isNamed(JSON.parse(values!))).map(([all]) =>
      all
    ),
  )
    .toEqual([])
  const { parameters, responses } = paths['/conversations'].get
  expect(parameters.find(({ name }: { name: string }) => name === 'offset').schema.maximum).toBe(2 ** 53 - 1)
  expect(Object.keys(responses['200'].headers)).toEqual(['Link', 'X-Request-Id'])
  expect(paths['/users/{id}'].get.parameters.map(({ name }: { name: string }) => name)).toContain('if-none-match')
  expect(components.schemas.Session.properties.access_token).toEqual({ type: 'string' })
})

test('every operation has an id, a tag, a description, described parameters and fields, and examples', () => {
  expect(missing(JSON.parse(text))).toEqual([])
})

test.each([
  ['operationId', 'operationId'],
  ['tags', 'tags'],
  ['summary', 'summary'],
  ['description', 'description'],
])('an operation without %s is found', (field, name) => {
  const document = JSON.parse(text)
  delete document.paths['/conversations/{id}/messages'].post[field]
  expect(missing(document)).toEqual([`POST /conversations/{id}/messages lacks ${name}`])
})

test('a parameter, a field or an example that is missing is found', () => {
  const document = JSON.parse(text)
  const { post } = document.paths['/conversations/{id}/messages']
  delete post.parameters[0].description
  delete post.requestBody.content['application/json'].schema.properties.content.description
  delete post.requestBody.content['application/json'].example
  delete post.responses['201'].content['application/json'].example
  delete document.paths['/users/{id}'].get.parameters[0].example
  expect(missing(document)).toEqual([
    'GET /users/{id} lacks an example of id',
    'POST /conversations/{id}/messages lacks a description of id',
    'POST /conversations/{id}/messages lacks a description of content',
    'POST /conversations/{id}/messages lacks an example of the request',
    'POST /conversations/{id}/messages lacks an example of the answer',
  ])
})
