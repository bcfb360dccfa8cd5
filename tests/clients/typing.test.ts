import { expect, test } from 'vitest'
import { advance, openAs, openBoth, useFakeTime } from './fixture.ts'

useFakeTime()

test('typing is shown to the other participant only, and ends after five seconds', async () => {
  const { chat, bob } = await openBoth()
  chat.typing()
  await advance(10)
  expect([chat.view.typing, bob.chat.view.typing]).toEqual([false, true])
  await advance(5000)
  expect(bob.chat.view.typing).toBe(false)
})

test('while the user keeps typing, one event is sent every three seconds and the indicator stays', async () => {
  const { chat, client, bob } = await openBoth()
  for (let key = 0; key < 90; key++) {
    chat.typing()
    await advance(100)
    expect(bob.chat.view.typing).toBe(true)
  }
  expect(client.log.filter((line) => line === 'send typing:7 typing')).toHaveLength(3)
})

test('typing ends when the message arrives', async () => {
  const { chat, bob } = await openBoth()
  chat.typing()
  await advance(10)
  chat.send('Done')
  await advance(100)
  expect(bob.chat.view).toMatchObject({ typing: false, messages: [{ content: 'Done' }] })
})

test('typing on another device of the same user is not shown', async () => {
  const { chat, simulator } = await openBoth()
  const tablet = openAs(simulator, 1)
  await advance(1000)
  tablet.chat.typing()
  await advance(10)
  expect(chat.view.typing).toBe(false)
})

test('what is typed while the topic is being joined is shown after the join', async () => {
  const { bob, simulator } = await openBoth()
  const tablet = openAs(simulator, 1)
  await advance(1)
  tablet.chat.typing()
  expect(tablet.client.log).not.toContain('send typing:7 typing')
  await advance(1000)
  expect(bob.chat.view.typing).toBe(true)
})
