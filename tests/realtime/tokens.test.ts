import { expect, test } from 'vitest'
import { converse, say, signUp } from '../tools/people.ts'
import { connect, join, listen, resign } from '../tools/realtime.ts'
import { aWhile, eventually } from '../tools/wait.ts'

const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1000) + seconds

test('a token that goes out of date ends the channel, and one that is renewed in time does not', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  const conversation = await converse(ana, ben)
  await aWhile()

  // For either, so that the renewed one's old token is out of date, too, when the channel of the other has ended.
  const exp = inSeconds(6)
  const statuses: string[] = []
  const said: { extension: string; status: string; message: string }[] = []
  const careless = (await connect(resign(ana.token, { exp }))).channel(`user:${ana.id}`, {
    config: { private: true },
  })
  careless.on('system', {}, (message) => said.push(message))
  careless.subscribe((status) => statuses.push(status))

  let token = resign(ben.token, { exp })
  const renewing = await connect(() => token)
  const careful = await listen(renewing, `user:${ben.id}`)
  expect(careful.status).toBe('SUBSCRIBED')
  token = ben.token
  await renewing.realtime.setAuth()

  await eventually(() => statuses.includes('CLOSED'), 30)
  expect(statuses).toEqual(['SUBSCRIBED', 'CLOSED'])
  const message = expect.stringMatching(/^Token has expired \d+ seconds ago$/)
  expect(said).toMatchObject([{ extension: 'system', status: 'error', message }])
  await say(ana, conversation, 'Still there?')
  await eventually(() => careful.heard.length > 0)
  expect(careful.heard).toMatchObject([{ event: 'message.created' }])
})

test.each([
  ['out of date', { exp: 1 }, /^InvalidJWTToken: Token has expired \d+ seconds ago$/],
  [
    'of another project',
    { iss: 'https://other.example/auth/v1' },
    /^JwtSignatureError: Failed to validate JWT signature$/,
  ],
])('a token that is %s joins nothing', async (_, claims, reason) => {
  const ana = await signUp('Ana')
  const { status, reason: told } = await listen(await connect(resign(ana.token, claims)), `user:${ana.id}`)
  expect(status).toBe('CHANNEL_ERROR')
  expect(told).toMatch(reason)
})

test('a token that is forged or none at all joins nothing', async () => {
  const ana = await signUp('Ana')
  const forged = `${ana.token.slice(0, -6)}AAAAAA`
  expect((await listen(await connect(forged), `user:${ana.id}`)).reason).toBe(
    'JwtSignatureError: Failed to validate JWT signature',
  )
  expect((await listen(await connect(forged), `user:${ana.id}`)).status).toBe('CHANNEL_ERROR')
})

test('a renewed token of somebody else loses what was theirs alone', async () => {
  const [ana, ben] = await Promise.all([signUp('Ana'), signUp('Ben')])
  let token = ana.token
  const client = await connect(() => token)
  const said: { message: string }[] = []
  const channel = client.channel(`user:${ana.id}`, { config: { private: true } })
  channel.on('system', {}, (message) => said.push(message))
  expect(await join(channel)).toMatchObject({ status: 'SUBSCRIBED' })
  token = ben.token
  await client.realtime.setAuth()
  await eventually(() => said.length > 0)
  expect(said).toMatchObject([
    { message: `You no longer have permission to read from this Channel topic: user:${ana.id}` },
  ])
  await aWhile()
  expect(client.getChannels()).toEqual([])
})
