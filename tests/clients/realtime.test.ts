// The client on a Realtime that waits where Supabase's does.
import { afterEach, expect, test } from 'vitest'
import { sendMessage } from '../tools/people.ts'
import { connect, listen } from '../tools/realtime.ts'
import { useStack } from '../tools/own_stack.ts'
import { testKeys } from '../tools/stack.ts'
import { eventually, pause } from '../tools/wait.ts'
import { openPair, playFirstMessage, playOutage, playRefusedTyping } from './realtime_scenarios.ts'

const stack = useStack({ REALTIME_DELAYS: 'on' })
const server = () => ({ base: stack.base, publishableKey: testKeys.publishableKey })
let isOut = false
/** With this setting the signal begins an outage of replication, or ends it. */
const setOutage = (value: boolean) => {
  if (isOut !== value) stack.process.kill('SIGUSR2')
  isOut = value
}
const beginOutage = () => setOutage(true)
const endOutage = () => setOutage(false)
afterEach(endOutage)

const worst = (times: number[]) => Math.max(...times)

test('the first message after the start of the server is shown within a second', async () => {
  const { time, chat } = await playFirstMessage(server(), await openPair(server()))
  expect(time).toBeLessThan(1000)
  await eventually(() => chat.view.status === 'live', 10)
  expect(chat.view.status).toBe('live')
})

test('so is one that is sent while replication has not started, until when the status is not live', async () => {
  const pair = await openPair(server())
  beginOutage()
  const { time, chat } = await playFirstMessage(server(), pair)
  expect(time).toBeLessThan(1500)
  expect(chat.view.status).not.toBe('live')
  endOutage()
  await eventually(() => chat.view.status === 'live', 10)
  expect(chat.view.status).toBe('live')
})

test("a typing topic that is refused holds up nobody else's messages", async () => {
  const times = await playRefusedTyping(server())
  console.log(`beside a refused join: worst ${worst(times)} ms of ${times.length}`)
  expect(worst(times)).toBeLessThan(1000)
})

test('during an outage of replication the status is delayed, and messages come in seconds', async () => {
  const times = await playOutage(server(), beginOutage, endOutage)
  expect(worst(times)).toBeLessThan(5000)
})

test('a refused join holds up everything on its connection for five seconds', async () => {
  const { ana, ben, conversation } = await openPair(server())
  const client = await connect(ana.token, { origin: new URL(stack.base).origin })
  const own = await listen(client, `user:${ana.id}`)
  for (let count = 0; own.broadcasts.length === 0 && count < 10; count++) {
    await sendMessage(ben, conversation, 'Hello')
    await pause(200)
  }
  const start = performance.now()
  const refused = listen(client, 'typing:999999')
  // The message must not overtake the join.
  await pause(200)
  const { id } = await sendMessage(ben, conversation, 'Hello again')
  await eventually(() => own.broadcasts.some(({ payload }) => payload.id === id), 10)
  expect(performance.now() - start).toBeGreaterThan(4900)
  expect((await refused).status).toBe('CHANNEL_ERROR')
})

test('a block leaves an open channel open until its user has a new token', async () => {
  const { ana, ben, conversation } = await openPair(server())
  const client = await connect(ben.token, { origin: new URL(stack.base).origin })
  const { status, channel } = await listen(client, `typing:${conversation}`)
  expect(status).toBe('SUBSCRIBED')
  await ana.call('PUT', `/users/me/blocks/${ben.id}`)
  await pause(500)
  expect(channel.state).toBe('joined')
})
