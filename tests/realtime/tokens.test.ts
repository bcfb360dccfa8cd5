// tests/attack/tokens.test.ts tries forged and expired tokens here, too.
import { expect, test } from 'vitest'
import { openPair, sendMessage, signUp } from '../tools/people.ts'
import { connect, join, listen, resign } from '../tools/realtime.ts'
import { until } from '../tools/wait.ts'

test('a channel is closed when its token expires, unless it was renewed in time', async () => {
  const { ana, ben, conversation } = await openPair()
  // Both tokens expire then, so that the renewed channel's old token has expired when the other channel closes.
  const exp = Math.floor(Date.now() / 1000) + 6
  const statuses: string[] = []
  const messages: { extension: string; status: string; message: string }[] = []
  const expiring = (await connect(resign(ana.token, { exp }))).channel(`user:${ana.id}`, { config: { private: true } })
  expiring.on('system', {}, (message) => messages.push(message))
  expiring.subscribe((status) => statuses.push(status))

  let token = resign(ben.token, { exp })
  const client = await connect(() => token)
  const renewed = await listen(client, `user:${ben.id}`)
  expect(renewed.status).toBe('SUBSCRIBED')
  token = ben.token
  await client.realtime.setAuth()

  await until(() => statuses.includes('CLOSED'))
  expect(statuses).toEqual(['SUBSCRIBED', 'CLOSED'])
  const message = expect.stringMatching(/^Token has expired \d+ seconds ago$/)
  expect(messages).toMatchObject([{ extension: 'system', status: 'error', message }])
  await sendMessage(ana, conversation, 'Still there?')
  await until(() => renewed.broadcasts.some(({ event }) => event === 'message.created'))
})

test('the signature counts, and not who has issued the token', async () => {
  const ana = await signUp('Ana')
  const token = resign(ana.token, { iss: 'https://other.example/auth/v1' })
  expect(await listen(await connect(token), `user:${ana.id}`)).toMatchObject({ status: 'SUBSCRIBED' })
})

test('a channel is closed when its token is replaced by one of a user who may not read the topic', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  let token = ana.token
  const client = await connect(() => token)
  const messages: { message: string }[] = []
  const channel = client.channel(`user:${ana.id}`, { config: { private: true } })
  channel.on('system', {}, (message) => messages.push(message))
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  token = ben.token
  await client.realtime.setAuth()
  await until(() => client.getChannels().length === 0)
  expect(messages).toMatchObject([
    { message: `You do not have permissions to read from this Channel topic: user:${ana.id}` },
  ])
})
