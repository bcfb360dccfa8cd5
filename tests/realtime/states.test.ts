import { expect, test } from 'vitest'
import { openConversation, sendMessage, signUp } from '../tools/people.ts'
import { connect, listen } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

test("a state reaches one's own devices and never the partner's; a message that ends it sends no event", async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const conversation_id = await openConversation(ana, ben)
  const [phone, laptop, partners] = await Promise.all(
    [ana, ana, ben].map(async ({ id, token }) => await listen(await connect(token), `user:${id}`)),
  ) as [Awaited<ReturnType<typeof listen>>, Awaited<ReturnType<typeof listen>>, Awaited<ReturnType<typeof listen>>]
  // That the conversation was opened may arrive after the join.
  const of = ({ broadcasts }: typeof phone) =>
    broadcasts.filter(({ event }) => event !== 'conversation.created').map(({ event, payload }) => ({ event, payload }))
  const path = `/conversations/${conversation_id}/state`
  for (const changes of [{ archived: true }, { archived: true }, { pinned: true }, {}]) {
    expect((await ana.call('PUT', path, changes)).status).toBe(200)
  }
  await sendMessage(ben, conversation_id, 'Hello')
  await eventually(() => [phone, laptop].every((device) => of(device).length >= 3), 30)
  await aWhile()
  const changed = {
    event: 'conversation.state',
    payload: { conversation_id, id: conversation_id, previous_id: null, user_id: ana.id },
  }
  const created = { event: 'message.created', payload: expect.objectContaining({ conversation_id, user_id: ben.id }) }
  for (const device of [phone, laptop]) expect(of(device)).toEqual([changed, changed, created])
  expect(of(partners)).toEqual([created])
})
