// Our own Realtime asks the policies again when somebody is blocked or deactivated; Supabase's does at a join alone.
import { expect, test } from 'vitest'
import type { Connection } from '../../supabase/local/realtime/channel.ts'
import { openChannels } from '../../supabase/local/realtime/channels.ts'
import type { Services } from '../../supabase/local/realtime/join.ts'
import { openHub } from '../../supabase/local/realtime/hub.ts'
import { openPresence } from '../../supabase/local/realtime/presence.ts'
import type { Frame } from '../../supabase/local/realtime/protocol.ts'
import { asAdmin, openPair, type Person, signUp } from '../tools/people.ts'
import { connect, listen, openDevice } from '../tools/realtime.ts'
import { until } from '../tools/wait.ts'

const pair = async () => {
  const { ana, ben, conversation } = await openPair()
  const topic = `typing:${conversation}`
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
    expect(both.map(({ broadcasts }) => broadcasts.length)).toEqual([1, 1])

    const [refused] = await joinBoth()
    expect(refused).toMatchObject({ status: 'CHANNEL_ERROR', reason: `Unauthorized: ${error}` })

    await blocker.call('DELETE', `/users/me/blocks/${blocked.id}`)
    const [again, other] = await joinBoth()
    await other!.channel.send(typing)
    await until(() => again!.broadcasts.length > 0)
    expect([again!.broadcasts.length, again!.channel.presenceState()]).toEqual([1, {}])
  },
)

test('a user who is blocked after the policies were asked, and before the join is over, is refused', async () => {
  const hub = openHub()
  let changes = 0
  const services = {
    ...{ hub, presence: openPresence(hub), postgresChanges: { prepare: () => [], unsubscribe: () => {} } },
    authorize: () => Promise.resolve({ canRead: changes++ ? [] : ['broadcast'], canWrite: [] }),
    permissionChanges: () => changes,
  }
  const replies: unknown[] = []
  const send = ({ payload }: Frame) => replies.push(payload)
  const connection = { identity: { claims: {}, expiresAt: null }, isOpen: () => true, send }
  const channels = openChannels(services as unknown as Services, connection as unknown as Connection, () => {})
  const payload = { config: { private: true } }
  channels.receive({ joinRef: '1', ref: '1', topic: 'realtime:typing:1', event: 'phx_join', payload })
  await until(() => replies.length > 0)
  const reason = 'Unauthorized: You do not have permissions to read from this Channel topic: typing:1'
  expect([replies, hub.subscribers('typing:1').size]).toEqual([[{ status: 'error', response: { reason } }], 0])
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
