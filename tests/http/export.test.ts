// What only a server shows of the export; tests/rules/privacy.rules.ts has what is in it.
import { expect, inject, test } from 'vitest'
import { asAdmin, openConversation, signUp } from '../tools/people.ts'

test('an export that its client stops reading does not block other requests', async () => {
  const [ana, slow] = await Promise.all([signUp('Ana'), signUp('Slow')])
  const conversation_id = await openConversation(slow, ana)
  const content = 'å'.repeat(200)
  const thousand = Array(1000).fill({ conversation_id, user_id: slow.id, content })
  for (let n = 0; n < 4; n++) await asAdmin('POST', 'messages', thousand)
  const headers = { Authorization: `Bearer ${slow.token}` }
  const left = await Promise.all(Array.from({ length: 10 }, async () => {
    const response = await fetch(`${inject('stack').base}/users/me/export`, { headers })
    const reader = response.body!.getReader()
    await reader.read()
    return reader
  }))
  expect((await ana.call('GET', '/users/me')).status).toBe(200)
  await Promise.all(left.map((reader) => reader.cancel()))
  expect((await slow.call('GET', '/users/me/export')).body.conversations[0].messages).toHaveLength(4000)
})
