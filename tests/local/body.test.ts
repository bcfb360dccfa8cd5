import { expect, test } from 'vitest'
import { readBody } from '../../supabase/local/body.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const stream = (start: (controller: ReadableStreamDefaultController<Uint8Array>) => void, cancel = () => {}) =>
  new ReadableStream<Uint8Array>({ start, cancel })

test('a body is whole, in however many parts it comes', async () => {
  const body = stream((controller) => {
    for (const part of ['{"a"', '', ': 1', '}']) controller.enqueue(bytes(part))
    controller.close()
  })
  expect(new TextDecoder().decode(await readBody(body))).toBe('{"a": 1}')
})

test('a body that is too large is given up where it is', async () => {
  let gaveUp = false
  const body = stream((controller) => {
    for (let part = 0; part < 3; part++) controller.enqueue(bytes('12345'))
  }, () => gaveUp = true)
  await expect(readBody(body, { bytes: 10 })).rejects.toMatchObject({ status: 413 })
  expect(gaveUp).toBe(true)
})

test('a body that comes too slowly is not waited for', async () => {
  const body = stream((controller) => controller.enqueue(bytes('{')))
  await expect(readBody(body, { milliseconds: 50 })).rejects.toMatchObject({ status: 408 })
})

test('a body that is cut off is no body', async () => {
  const body = stream((controller) => {
    controller.enqueue(bytes('{'))
    controller.error(new Error('gone'))
  })
  await expect(readBody(body)).rejects.toMatchObject({ status: 400 })
})
