import openapiTypes, { astToString } from 'openapi-typescript'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { reference } from '../../docs/reference/index.ts'

const text = readFileSync('docs/openapi.json', 'utf8')

/** The TypeScript that a generator makes of a document. */
const generate = async (document: string): Promise<string> => astToString(await openapiTypes(document))

test('a generator of clients makes types of every operation and every path', async () => {
  const types = await generate(text)
  const found = (pattern: RegExp) => [...types.matchAll(pattern)].map(([, name]) => name!).sort()
  expect([...new Set(found(/operations\["(\w+)"\]/g))]).toEqual(Object.keys(reference).sort())
  expect(found(/^ {4}"(\/[^"]*)": \{$/gm)).toEqual(Object.keys(JSON.parse(text).paths).sort())
})

test('a reference that leads nowhere is refused', async () => {
  await expect(generate(text.replaceAll('"Message":', '"Other":'))).rejects.toThrow("Can't resolve $ref")
})
