import { expect, test } from 'vitest'
import { readBody } from '../../supabase/local/body.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const stream = (start: (controller: ReadableStreamDefaultController<Uint8Array>) => void, cancel = () => {}) =>
  new ReadableStream<Uint8Array>({ start, cancel })

test('reads a body that arrives in several chunks', async () => {
  const body = stream((controller) => {
    for (const part of ['{"a"', '', ': 1', '}']) controller.enqueue(bytes(part))
    controller.close()
  })
  expect(new TextDecoder().decode(await readBody(body))).toBe('{"a": 1}')
})

test('stops reading a body over the limit', async () => {
  let cancelled = false
  const body = stream((controller) => {
    for (let part = 0; part < 3; part++) controller.enqueue(bytes('12345'))
  }, () => cancelled = true)
  await expect(readBody(body, { bytes: 10 })).rejects.toMatchObject({ status: 413 })
  expect(cancelled).toBe(true)
})

test('stops waiting for a slow body', async () => {
  const body = stream((controller) => controller.enqueue(bytes('{')))
  await expect(readBody(body, { milliseconds: 50 })).rejects.toMatchObject({ status: 408 })
})

test('rejects a truncated body', async () => {
  const body = stream((controller) => {
    controller.enqueue(bytes('{'))
    controller.error(new Error('connection lost'))
  })
  await expect(readBody(body)).rejects.toMatchObject({ status: 400 })
})
