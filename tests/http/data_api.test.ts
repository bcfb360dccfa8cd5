/** What a client app does with supabase-js. What each role reaches is in tests/db/access. */
import { beforeAll, expect, inject, test } from 'vitest'
import { asAdmin, call, openConversation, type Person, sendMessage, signUp } from '../tools/people.ts'

const { origin, publishableKey, secretKey } = inject('stack')

const rowOf = async (table: string, id: number) => (await asAdmin('GET', `${table}?id=eq.${id}`)).body[0]

let ana: Person
let ben: Person
let conversation: number
beforeAll(async () => {
  ana = await signUp('Ana', { bio: 'Potter' })
  ben = await signUp('Ben')
  conversation = await openConversation(ana, ben)
  await sendMessage(ana, conversation, 'Is the room free?')
})

test('nobody changes or deletes rows without a filter, and with one admins do', async () => {
  const everyone: [string, Record<string, string>][] = [
    ['a participant', { apikey: publishableKey, Authorization: `Bearer ${ana.token}` }],
    ['an anonymous caller', { apikey: publishableKey }],
    ['an admin', { apikey: secretKey }],
  ]
  for (const [who, headers] of everyone) {
    for (const [method, statement] of [['PATCH', 'UPDATE'], ['DELETE', 'DELETE']] as const) {
      for (const path of ['users', 'users?select=id', 'users?limit=1&order=id', `users?apikey=${publishableKey}`]) {
        const change = method === 'PATCH' ? { bio: 'Everybody' } : undefined
        const { status, body } = await call(method, `${origin}/rest/v1/${path}`, change, { headers })
        const message = `${statement} requires a WHERE clause`
        expect({ who, path, status, ...body }).toMatchObject({ who, path, status: 400, code: '21000', message })
      }
    }
  }
  expect((await rowOf('users', ben.id)).bio).toBeNull()
  await asAdmin('PATCH', `users?id=eq.${ben.id}`, { bio: 'Baker' })
  expect((await rowOf('users', ben.id)).bio).toBe('Baker')
})

test('timestamps are ISO 8601 with an offset, also embedded; texts that look like them stay', async () => {
  const iso = expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$/)
  const location = '2026-11-22 04:17:56.931623+00'
  await asAdmin('PATCH', `users?id=eq.${ben.id}`, { location })
  const { body } = await asAdmin('GET', `conversations?id=eq.${conversation}&select=created_at,messages(created_at)`)
  expect(body).toEqual([{ created_at: iso, messages: [{ created_at: iso }] }])
  const row = await rowOf('users', ben.id)
  expect(row).toMatchObject({ location, created_at: iso })
  // Filters take what answers print.
  const found = await asAdmin('GET', `users?created_at=eq.${encodeURIComponent(row.created_at)}&id=eq.${ben.id}`)
  expect(found.body).toEqual([row])
})
