import { afterEach, expect, test, vi } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { openConversation, signUp } from '../tools/people.ts'
import { until } from '../tools/wait.ts'
import { openInboxOf } from './real_inbox.ts'

afterEach(() => void vi.unstubAllGlobals())

// Uses the real supabase-js, because it decides when auth events fire and whose token a request carries.
test('two users who sign in one after the other on one client read and send only as themselves', async () => {
  const [ana, bob, eve] = await Promise.all([signUp('Ana'), signUp('Bob'), signUp('Eve')])
  const conversation = await openConversation(ana, bob)
  await openConversation(ana, eve)
  const { supabase, inbox: anas } = await openInboxOf(ana)
  const chat = anas.open(conversation)
  await until(() => anas.view.status === 'live' && chat.view.status === 'live')
  expect(anas.view).toMatchObject({ me: { id: ana.id }, conversations: { length: 2 } })
  // supabase-js does both: a refresh every hour, and SIGNED_IN each time the page becomes visible.
  await supabase.auth.refreshSession()
  expect((await supabase.auth.signInWithPassword(ana)).error).toBe(null)
  expect(await chat.send('Hello')).toMatchObject({ user_id: ana.id })

  const { fetch } = globalThis
  vi.stubGlobal(
    'fetch',
    (...request: Parameters<typeof fetch>) =>
      `${request[0]}`.includes('/functions/') ? Promise.reject(new TypeError('Offline')) : fetch(...request),
  )
  const waiting = chat.send('From Ana')
  await until(() => chat.view.outgoing.some(({ state }) => state === 'waiting'))
  expect((await supabase.auth.signInWithPassword(bob)).error).toBe(null)
  vi.unstubAllGlobals()
  await expect(waiting).rejects.toMatchObject({ message: 'Closed before it was answered' })
  expect(() => anas.open(conversation)).toThrow('closed')

  const bobs = openInbox(supabase)
  await until(() => bobs.view.status === 'live' && bobs.view.unread === 1)
  expect(bobs.view).toMatchObject({ me: { id: bob.id }, conversations: { length: 1 } })
  const { body } = await bob.call('GET', `/conversations/${conversation}/messages`)
  expect(body).toMatchObject([{ user_id: ana.id, content: 'Hello' }])
  bobs.close()
})
