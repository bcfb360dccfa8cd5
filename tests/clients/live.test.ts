// The client with the real supabase-js. Polling is off where it would hide an event that was missed. What it makes of
// any loss is in network_faults.test.ts.
import { decodeJwt, SignJWT } from 'jose'
import { expect, inject, test } from 'vitest'
import { sendMessage } from '../tools/people.ts'
import { until } from '../tools/wait.ts'
import { openBoth } from './real_inbox.ts'

const stack = inject('stack')
const withoutPolls = { poll: [1e8, 1e9] as const }

test('a channel that the server closes because its token expired is joined again with a fresh token', async () => {
  const { anas, bens } = await openBoth(withoutPolls)
  // It joins again at once, so that looking now and then could miss it.
  let wasOffline = false
  anas.inbox.subscribe(() => wasOffline ||= anas.inbox.view.status === 'offline')
  // A channel that joins later, such as that of typing, would bring a fresh token for all.
  await until(() => anas.supabase.getChannels().every(({ state }) => state === 'joined'))
  // A heartbeat brings a fresh token, too.
  anas.supabase.realtime.sendHeartbeat = () => Promise.resolve()
  const claims = { ...decodeJwt(anas.token), exp: Math.floor(Date.now() / 1000) + 2 }
  const secret = new TextEncoder().encode(stack.jwtSecret)
  await anas.supabase.realtime.setAuth(await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(secret))
  await until(() => wasOffline)
  await bens.chat.send('Missed')
  await until(() => anas.inbox.view.status === 'live' && anas.chat.view.status === 'live')
  expect(anas.chat.view.messages).toMatchObject([{ content: 'Missed' }])
  await bens.chat.send('Delivered')
  await until(() => anas.chat.view.messages.length === 2)
})

test('a connection on which nothing comes any more is offline, and replaced', async () => {
  const { ben, conversation, anas } = await openBoth(withoutPolls)
  anas.loss.isSilent = true
  // After ten seconds, of which channel.test.ts has a clock.
  await until(() => anas.inbox.view.status === 'offline' && anas.chat.view.status === 'offline')
  anas.loss.isSilent = false
  await sendMessage(ben, conversation, 'Missed')
  await until(() => anas.chat.view.messages.length === 1 && anas.chat.view.status === 'live')
})
