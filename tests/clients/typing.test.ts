import { describe, expect, test } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { atRest, onFakeTime, pass } from './at_rest.ts'

onFakeTime()

describe('typing', () => {
  const two = async () => {
    const ocean = await atRest()
    const other = openInbox(ocean.asClient(ocean.openClient(2)))
    const theirs = other.open(ocean.conversation)
    await pass(1000)
    return { ...ocean, other, theirs }
  }

  test('is seen by the other one alone, and stops by itself', async () => {
    const { inbox, chat, other, theirs } = await two()
    chat.typing()
    await pass(10)
    expect([chat.view.typing, theirs.view.typing]).toEqual([false, true])
    await pass(5000)
    expect(theirs.view.typing).toBe(false)
    inbox.close()
    other.close()
  })

  test('at every key it is told every three seconds, and seen all the while', async () => {
    const { inbox, chat, other, theirs, client } = await two()
    for (let key = 0; key < 90; key++) {
      chat.typing()
      await pass(100)
      expect(theirs.view.typing).toBe(true)
    }
    expect(client.log.filter((line) => line === 'send typing:7 typing')).toHaveLength(3)
    inbox.close()
    other.close()
  })

  test('stops when the message comes', async () => {
    const { inbox, chat, other, theirs } = await two()
    chat.typing()
    await pass(10)
    chat.send('Done')
    await pass(100)
    expect(theirs.view).toMatchObject({ typing: false, messages: [{ content: 'Done' }] })
    inbox.close()
    other.close()
  })

  test('one’s own typing on another device is not the other one’s', async () => {
    const { inbox, chat, asClient, openClient, conversation, other } = await two()
    const tablet = openInbox(asClient(openClient(1)))
    const there = tablet.open(conversation)
    await pass(1000)
    there.typing()
    await pass(10)
    expect(chat.view.typing).toBe(false)
    for (const each of [inbox, other, tablet]) each.close()
  })
})
