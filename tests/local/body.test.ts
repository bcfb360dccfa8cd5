import { expect, test } from 'vitest'
import { readBody } from '../../supabase/local/body.ts'

/** A body of these parts, which then ends, breaks off or, without an end, keeps waiting. */
const stream = (parts: string[], end?: (stream: ReadableStreamDefaultController) => void, cancel = () => {}) =>
  new ReadableStream<Uint8Array>({
    start(stream) {
      for (const part of parts) stream.enqueue(new TextEncoder().encode(part))
      end?.(stream)
    },
    cancel,
  })

test('a body that arrives in several chunks is read', async () => {
  const body = await readBody(stream(['{"a"', '', ': 1', '}'], (stream) => stream.close()))
  expect(new TextDecoder().decode(body)).toBe('{"a": 1}')
})

test('a body over the limit, a slow one and a truncated one are refused, and not read any further', async () => {
  let cancelled = false
  const large = stream(['12345', '12345', '12345'], undefined, () => cancelled = true)
  await expect(readBody(large, { bytes: 10 })).rejects.toMatchObject({ status: 413 })
  expect(cancelled).toBe(true)
  await expect(readBody(stream(['{']), { milliseconds: 50 })).rejects.toMatchObject({ status: 408 })
  const truncated = stream(['{'], (stream) => stream.error(new Error('connection lost')))
  await expect(readBody(truncated)).rejects.toMatchObject({ status: 400 })
})
