import { createClient } from '@supabase/supabase-js'
import { expect, inject, test } from 'vitest'
import { WebSocket } from 'ws'
import { call } from '../../tools/people.ts'

const { origin, publishableKey } = inject('stack')

test('Storage is not available locally and says so', async () => {
  const { data, error } = await createClient(origin, publishableKey, { realtime: { transport: WebSocket as never } })
    .storage.from('attachments').createSignedUrl('1/map.png', 60)
  expect(data).toBe(null)
  expect(error?.message).toMatch(/^Storage does not run on this machine/)
  const { status, body } = await call('POST', `${origin}/storage/v1/object/attachments/1/map.png`, {}, {
    headers: { apikey: publishableKey },
  })
  expect(status).toBe(501)
  expect(body).toEqual({ statusCode: '501', error: 'Not Implemented', message: error?.message })
})

test('the Data API does not show the tables of Storage', async () => {
  for (const table of ['objects', 'buckets']) {
    const { status } = await call('GET', `${origin}/rest/v1/${table}`, undefined, {
      headers: { apikey: publishableKey },
    })
    expect(status).toBe(404)
  }
})
