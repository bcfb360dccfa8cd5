// Our own Realtime asks the policies again when somebody is blocked or deactivated; Supabase's does at a join alone.
import { expect, test } from 'vitest'
import { asAdmin, openConversation, type Person, signUp } from '../tools/people.ts'
import { connect, listen, openDevice } from '../tools/realtime.ts'
import { until } from '../tools/wait.ts'

const pair = async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const topic = `typing:${await openConversation(ana, ben)}`
  const error = `You do not have permissions to read from this Channel topic: ${topic}`
  const joinBoth = () =>
    Promise.all([ana, ben].map(async ({ token, name }) => await listen(await connect(token), topic, {}, { key: name })))
  return { ana, ben, topic, error, joinBoth }
}
const typing = { type: 'broadcast' as const, event: 'typing', payload: { typing: true } }

test.each([['voyager', 0], ['local', 1]])(
  'when the %s blocks the other, both lose the typing: topic until the block is removed',
  async (_, index) => {
    const { ana, ben, error, joinBoth } = await pair()
    const [blocker, blocked] = index === 0 ? [ana, ben] : [ben, ana]
    const both = await joinBoth()
    const block = async (one: Person, other: Person) =>
      expect((await one.call('PUT', `/users/me/blocks/${other.id}`)).status).toBe(204)
    // Blocks between others change nothing.
    const cat = await signUp('Cat')
    await Promise.all([block(ana, cat), block(cat, ben)])
    for (const { channel } of both) {
      await channel.track({ here: true })
      await channel.send(typing)
    }
    await until(() => both.every(({ broadcasts }) => broadcasts.length > 0))
    expect(both.map(({ errors }) => errors)).toEqual([[], []])
    await block(blocker, blocked)
    await until(() => both.every(({ errors }) => errors.length > 0))
    expect(both.map(({ errors }) => errors)).toEqual([[error], [error]])
    // Also over HTTP, to which supabase-js falls back.
    for (const { channel } of both) await expect(channel.httpSend('typing', {})).rejects.toThrow('Unauthorized')
    expect(both.map(({ broadcasts }) => broadcasts.length)).toEqual([1, 1])

    await blocker.call('DELETE', `/users/me/blocks/${blocked.id}`)
    const [again, other] = await joinBoth()
    await other!.channel.send(typing)
    await until(() => again!.broadcasts.length > 0)
    expect([again!.broadcasts.length, again!.channel.presenceState()]).toEqual([1, {}])
  },
)

test('a user who joins during the block is refused, or loses the topic', async () => {
  await Promise.all(Array.from({ length: 5 }, async () => {
    const { ana, ben, topic, error } = await pair()
    const client = await connect(ben.token)
    const [joined] = await Promise.all([listen(client, topic), ana.call('PUT', `/users/me/blocks/${ben.id}`)])
    if (joined.status === 'CHANNEL_ERROR') expect(joined.reason).toContain(error)
    else await until(() => joined.errors.includes(error))
  }))
})

test('a deactivated user loses every topic, and the partner none', async () => {
  const { ana, error, topic, joinBoth } = await pair()
  const [device, [typings, partners]] = [await openDevice(ana), await joinBoth()]
  await asAdmin('PATCH', `users?id=eq.${ana.id}`, { is_active: false })
  await until(() => [device, typings].every((one) => one!.errors.length > 0))
  await until(() => partners!.broadcasts.some(({ event }) => event === 'closed'))
  expect([device.errors, typings!.errors]).toEqual([[error.replace(topic, `user:${ana.id}`)], [error]])
  expect(partners!.errors).toEqual([])
})
