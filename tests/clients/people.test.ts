import { createClient } from '@supabase/supabase-js'
import { expect, inject, onTestFinished, test } from 'vitest'
import ws from 'ws'
import { openInbox } from '../../clients/inbox.ts'
import { converse, type Person, signUp } from '../tools/people.ts'
import { eventually } from '../tools/wait.ts'

const stack = inject('stack')

const until = async (isSo: () => boolean) => {
  await eventually(isSo)
  expect(isSo()).toBe(true)
}

// With supabase-js as it is installed, because it decides what is told when, and whose token a request carries.
test('two people on one client, one after the other, see and send what is their own', async () => {
  const [ana, bob, eve] = await Promise.all(['Ana', 'Bob', 'Eve'].map((name) => signUp(name))) as [
    Person,
    Person,
    Person,
  ]
  const conversation = await converse(ana, bob)
  await converse(ana, eve)
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
  const enter = async ({ email, password }: Person) => {
    expect((await supabase.auth.signInWithPassword({ email, password })).error).toBe(null)
  }

  await enter(ana)
  const anas = openInbox(supabase)
  const chat = anas.open(conversation)
  await until(() => anas.view.status === 'live' && chat.view.status === 'live')
  expect(anas.view).toMatchObject({ me: { id: ana.id }, conversations: { length: 2 } })
  // As at every look at the page, and after an hour.
  await supabase.auth.refreshSession()
  await enter(ana)
  expect(await chat.send('Hello')).toMatchObject({ user_id: ana.id })

  online = false
  const waiting = chat.send('In the name of Ana')
  await until(() => chat.view.outgoing.some(({ state }) => state === 'waiting'))
  await enter(bob)
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
