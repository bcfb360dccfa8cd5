import { expect, test } from 'vitest'
import { openConversation, signUp } from '../tools/people.ts'
import { connect, listen } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

test('both participants, and nobody else, receive an event at every step, also of the clock', async () => {
  const [ana, ben, mallory] = await Promise.all([signUp('Ana'), signUp('Ben'), signUp('Mallory')])
  const conversation_id = await openConversation(ana, ben)
  const devices = await Promise.all(
    [ana, ben, mallory].map(async ({ id, token }) => await listen(await connect(token), `user:${id}`)),
  )
  const [anas, bens, others] = devices as [typeof devices[0], typeof devices[0], typeof devices[0]]
  const path = `/conversations/${conversation_id}/reservations`
  const draft = { title: 'A walk', price: 5, date: '2036-01-01T10:00:00Z', client_id: crypto.randomUUID() }
  const ids: number[] = []
  for (const steps of [['PATCH', 'accept', 'cancel'], ['decline']]) {
    const { body: { id } } = await ana.call('POST', path, { ...draft, client_id: crypto.randomUUID() })
    ids.push(id)
    for (const step of steps) {
      if (step === 'PATCH') await ana.call('PATCH', `${path}/${id}`, { price: 6 })
      else await ben.call('POST', `${path}/${id}/${step}`, { revision: 2 })
      ids.push(id)
    }
    // Neither of these is a step.
    await ben.call('POST', `${path}/${id}/${steps.at(-1)}`)
    await ana.call('POST', `${path}/${id}/complete`)
    await ana.call('PATCH', `${path}/${id}`, {})
  }
  // The schedule of the local stack runs every 5 s.
  const { body: { id } } = await ana.call('POST', path, { ...draft, date: new Date(Date.now() + 500).toISOString() })
  ids.push(id, id)
  await eventually(() => [anas, bens].every(({ broadcasts }) => broadcasts.length >= ids.length), 30)
  await aWhile()
  const expected = ids.map((id) => ({
    event: 'reservation.changed',
    payload: { conversation_id, id, previous_id: null, user_id: null },
  }))
  for (const { broadcasts } of [anas, bens]) {
    expect(broadcasts.map(({ event, payload }) => ({ event, payload }))).toEqual(expected)
  }
  expect(others.broadcasts).toEqual([])
  expect((await ben.call('GET', `${path}/${id}`)).body).toMatchObject({
    status: 'cancelled',
    history: [{}, { by: null }],
  })
})
