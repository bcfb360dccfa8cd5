import { createClient } from '@supabase/supabase-js'
import { expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { openInbox } from '../../clients/inbox.ts'
import { openConversation, type Person, signUp } from '../tools/people.ts'
import { eventually } from '../tools/wait.ts'

const stack = inject('stack')

const until = async (condition: () => boolean) => {
  await eventually(condition)
  expect(condition()).toBe(true)
}

// Uses the real supabase-js, because it decides when auth events fire and whose token a request carries.
test('two users who sign in one after the other on one client read and send only as themselves', async () => {
  const [ana, bob, eve] = await Promise.all([signUp('Ana'), signUp('Bob'), signUp('Eve')])
  const conversation = await openConversation(ana, bob)
  await openConversation(ana, eve)
  let online = true
  const supabase = createClient(stack.origin, stack.publishableKey, {
    auth: { persistSession: false, storageKey: ana.email },
    realtime: { transport: ws as never },
    global: {
      fetch: (input, init) =>
        online || !String(input).includes('/functions/')
          ? fetch(input, init)
          : Promise.reject(new TypeError('Offline')),
    },
  })
  onTestFinished(async () => {
    await supabase.auth.stopAutoRefresh()
    await supabase.removeAllChannels()
  })
  const signIn = async ({ email, password }: Person) => {
    expect((await supabase.auth.signInWithPassword({ email, password })).error).toBe(null)
  }

  await signIn(ana)
  const anas = openInbox(supabase)
  const chat = anas.open(conversation)
  await until(() => anas.view.status === 'live' && chat.view.status === 'live')
  expect(anas.view).toMatchObject({ me: { id: ana.id }, conversations: { length: 2 } })
  // supabase-js does both: a refresh every hour, and SIGNED_IN each time the page becomes visible.
  await supabase.auth.refreshSession()
  await signIn(ana)
  expect(await chat.send('Hello')).toMatchObject({ user_id: ana.id })

  online = false
  const waiting = chat.send('From Ana')
  await until(() => chat.view.outgoing.some(({ state }) => state === 'waiting'))
  await signIn(bob)
  online = true
  await expect(waiting).rejects.toMatchObject({ message: 'Closed before it was answered' })
  expect(() => anas.open(conversation)).toThrow('closed')

  const bobs = openInbox(supabase)
  await until(() => bobs.view.status === 'live' && bobs.view.unread === 1)
  expect(bobs.view).toMatchObject({ me: { id: bob.id }, conversations: { length: 1 } })
  const { body } = await bob.call('GET', `/conversations/${conversation}/messages`)
  expect(body).toMatchObject([{ user_id: ana.id, content: 'Hello' }])
  expect(body).toHaveLength(1)
  bobs.close()
})
