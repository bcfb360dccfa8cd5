import { createConfig, lintFromString } from '@redocly/openapi-core'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { operations, resolved } from '../tools/openapi.ts'

const text = readFileSync('docs/openapi.json', 'utf8')
const read = () => JSON.parse(text)

const lint = async (source: string): Promise<string[]> => {
  const config = await createConfig({ extends: ['recommended'] })
  const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
  return problems.map(({ ruleId, message, location }) => `${location[0]?.pointer}: ${ruleId}: ${message}`)
}

test("Redocly's recommended rules find nothing, but would find an example that is not as its schema says", async () => {
  expect(await lint(text)).toEqual([])
  const document = read()
  document.paths['/conversations/{id}/messages'].post.requestBody.content['application/json'].example.content = 7
  document.paths['/users/interests'].get.responses['200'].content['application/json'].example[0].id = 'one'
  const found = expect.stringContaining('no-invalid-media-type-examples')
  expect(await lint(JSON.stringify(document))).toEqual([found, found])
})

// Each of these broke a generated client or made a validator refuse what is valid.
const unsuitable = (node: unknown, at = ''): string[] => {
  if (typeof node !== 'object' || node === null) return []
  const { type, format, additionalProperties } = node as Record<string, unknown>
  const parts = Object.entries(node).filter(([key]) => !['example', 'examples'].includes(key))
  return [
    ...(['integer', 'number'].includes(type as string) && !format ? [`${at} has no format`] : []),
    // What a request may not have, a generated client need not be able to say.
    ...(additionalProperties === false && !at.includes('requestBody') ? [`${at} excludes properties`] : []),
    ...('multipleOf' in node ? [`${at} has multipleOf`] : []),
    ...parts.flatMap(([key, value]) => unsuitable(value, `${at}/${key}`)),
  ]
}

test('generators get formats, one type for each enum of answers, and answers that may grow', () => {
  const { components, paths } = read()
  expect([...unsuitable(components.schemas), ...unsuitable(paths)]).toEqual([])
  const named = Object.values(components.schemas).map((schema) => JSON.stringify((schema as { enum?: [] }).enum))
  const enums = [...JSON.stringify(components.schemas).matchAll(/"enum":(\[[^\]]*\])/g)].map(([, values]) => values)
  expect(enums.length).toBeGreaterThan(5)
  expect(enums.filter((values) => !named.includes(values!))).toEqual([])
  const { parameters, responses } = paths['/conversations'].get
  expect(parameters.find(({ name }: { name: string }) => name === 'offset').schema.maximum).toBe(2 ** 53 - 1)
  expect(Object.keys(responses['200'].headers)).toEqual(['Link', 'X-Request-Id'])
  expect(paths['/users/{id}'].get.parameters.map(({ name }: { name: string }) => name)).toContain('if-none-match')
  expect(components.schemas.Session.properties.access_token).toEqual({ type: 'string' })
})

// What else an operation must have the types of docs/reference ask for, or examples.test.ts sends.
test('every parameter and every field of a body is described', () => {
  const described = operations.flatMap(({ name, parameters, body }) =>
    [
      ...parameters.map((one) => [one.name, one] as const),
      ...Object.entries(body ? resolved(body).properties! : {}),
    ].map(([field, { description }]) => ({ field: `${name}: ${field}`, description }))
  )
  expect(described.length).toBeGreaterThan(100)
  expect(described.filter(({ description }) => !description)).toEqual([])
})
