import { describe, expect, test } from 'vitest'
import { atRest, onFakeTime, pass } from './at_rest.ts'

onFakeTime()

describe('sending', () => {
  test('shows the message at once, and in its place when it is there', async () => {
    const { inbox, chat, table } = await atRest()
    const answer = chat.send('Hello')
    expect(chat.view).toMatchObject({ messages: [], outgoing: [{ content: 'Hello', state: 'sending' }] })
    await pass(100)
    expect(chat.view).toMatchObject({ messages: [{ content: 'Hello' }], outgoing: [] })
    expect(await answer).toEqual(table[0])
    inbox.close()
  })

  test('the same words twice are shown twice, all the while', async () => {
    const { inbox, chat, table } = await atRest()
    const seen = new Set<number>()
    chat.send('Hi')
    chat.send('Hi')
    chat.subscribe(() => seen.add(chat.view.messages.length + chat.view.outgoing.length))
    await pass(1000)
    expect(chat.view).toMatchObject({ messages: table, outgoing: [] })
    expect([...seen]).toEqual([2])
    inbox.close()
  })

  test('a send whose answer is lost is tried again, and is one message', async () => {
    const { inbox, chat, world, table, requests } = await atRest()
    world.weather = { ...world.weather, unanswered: 1 }
    chat.send('Once')
    await pass(5000)
    world.weather = { ...world.weather, unanswered: 0 }
    await pass(40_000)
    expect(requests.filter((request) => request === '1 POST conversations/7/messages').length).toBeGreaterThan(2)
    expect(table).toHaveLength(1)
    expect(chat.view).toMatchObject({ messages: [{ content: 'Once' }], outgoing: [] })
    inbox.close()
  })

  test('a request that hangs is given up, and tried again', async () => {
    const { inbox, chat, world, table } = await atRest({ timeout: 2000 })
    world.weather = { ...world.weather, slowness: 1e9 }
    chat.send('Slow')
    await pass(2500)
    expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 0 } }])
    world.weather = { ...world.weather, slowness: 5 }
    await pass(5000)
    expect(table).toHaveLength(1)
    expect(chat.view.outgoing).toEqual([])
    inbox.close()
  })

  test('too many requests wait as long as the service says', async () => {
    const { inbox, chat, world, table } = await atRest()
    world.weather = { ...world.weather, busy: 1 }
    world.retryAfter = 20
    chat.send('Patience')
    await pass(100)
    world.weather = { ...world.weather, busy: 0 }
    await pass(19_000)
    expect(table).toHaveLength(0)
    expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 429 } }])
    await pass(12_000)
    expect(table).toHaveLength(1)
    inbox.close()
  })

  test('messages are sent in the order they were written in, also when the first has to wait', async () => {
    const { inbox, chat, world, table } = await atRest()
    world.weather = { ...world.weather, unsent: 1 }
    for (const content of ['One', 'Two', 'Three']) chat.send(content)
    await pass(1000)
    world.weather = { ...world.weather, unsent: 0 }
    await pass(10_000)
    expect(table.map(({ content }) => content)).toEqual(['One', 'Two', 'Three'])
    inbox.close()
  })

  test('a refusal is final and told, holds up nothing, and can be tried again or forgotten', async () => {
    const { inbox, chat, table, requests } = await atRest()
    const answer = chat.send('rude')
    chat.send('Sorry')
    await pass(5000)
    await expect(answer).rejects.toMatchObject({ status: 403, message: 'You cannot write to this person' })
    expect(chat.view.outgoing).toMatchObject([{ content: 'rude', state: 'refused', error: { status: 403 } }])
    expect(table.map(({ content }) => content)).toEqual(['Sorry'])
    const { client_id } = chat.view.outgoing[0]!
    chat.retry(client_id)
    await pass(5000)
    expect(requests.filter((request) => request.startsWith('1 POST'))).toHaveLength(3)
    expect(chat.view.outgoing).toMatchObject([{ state: 'refused' }])
    chat.discard(client_id)
    expect(chat.view.outgoing).toEqual([])
    inbox.close()
  })

  test('goes on when the conversation is closed, and is shown when it is opened again', async () => {
    const { inbox, chat, world, table, conversation } = await atRest()
    world.weather = { ...world.weather, unsent: 1 }
    chat.send('Later')
    chat.close()
    await pass(1000)
    expect(inbox.open(conversation).view.outgoing).toMatchObject([{ content: 'Later', state: 'waiting' }])
    world.weather = { ...world.weather, unsent: 0 }
    await pass(5000)
    expect(table).toHaveLength(1)
    inbox.close()
  })
  test('what something on the way never lets through can be discarded, and then holds up nothing', async () => {
    const { inbox, chat, world, table, requests } = await atRest()
    const forbidden = () =>
      new Response('<h1>Forbidden</h1>', { status: 403, headers: { 'Content-Type': 'text/html' } })
    world.stranger = (_, body) => body.includes('drop table') ? forbidden() : null
    const answer = chat.send('How do I drop table rows?')
    for (const content of ['Never mind', 'Never tried', 'Hello']) chat.send(content)
    await pass(100)
    const [waiting, , untried] = chat.view.outgoing
    expect(waiting).toMatchObject({ state: 'waiting', error: { status: 0 } })
    chat.discard(untried!.client_id)
    chat.discard(waiting!.client_id)
    await expect(answer).rejects.toThrow('Discarded')
    await pass(100)
    expect(table.map(({ content }) => content)).toEqual(['Never mind', 'Hello'])
    expect(chat.view).toMatchObject({ messages: table, outgoing: [] })
    await pass(100_000)
    expect(requests.filter((request) => request.startsWith('1 POST'))).toHaveLength(2)
    inbox.close()
  })

  test('discarding one that waits does not cut short the time that the service has named', async () => {
    const { inbox, chat, world, table, requests } = await atRest()
    world.weather = { ...world.weather, busy: 1 }
    world.retryAfter = 20
    chat.send('Patience')
    chat.send('Later')
    await pass(100)
    world.weather = { ...world.weather, busy: 0 }
    chat.discard(chat.view.outgoing[0]!.client_id)
    await pass(19_000)
    expect(requests.filter((request) => request.startsWith('1 POST'))).toHaveLength(1)
    await pass(12_000)
    expect(table.map(({ content }) => content)).toEqual(['Later'])
    inbox.close()
  })

  test('one whose request is on its way when it is discarded is sent if that is answered', async () => {
    const { inbox, chat, world, table } = await atRest()
    world.weather = { ...world.weather, slowness: 1000 }
    const answer = chat.send('On its way')
    await pass(1)
    chat.discard(chat.view.outgoing[0]!.client_id)
    expect(chat.view.outgoing).toMatchObject([{ state: 'sending' }])
    await pass(10_000)
    expect(await answer).toEqual(table[0])
    expect(chat.view).toMatchObject({ messages: [{ content: 'On its way' }], outgoing: [] })
    expect(table).toHaveLength(1)
    inbox.close()
  })

  test.each([
    ['fails', 'Into the void', { unsent: 1 }, 'Sorry'],
    ['is refused', 'rude', {}, 'Sorry'],
  ])('and is forgotten if that %s', async (_, content, weather, next) => {
    const { inbox, chat, world, table } = await atRest()
    world.weather = { ...world.weather, ...weather }
    const answer = chat.send(content)
    chat.send(next)
    chat.discard(chat.view.outgoing[0]!.client_id)
    await expect(Promise.all([answer, pass(100)])).rejects.toThrow('Discarded')
    expect(chat.view.outgoing.map(({ content }) => content)).not.toContain(content)
    world.weather = { ...world.weather, unsent: 0 }
    await pass(5000)
    expect(table.map(({ content }) => content)).toEqual([next])
    expect(chat.view.outgoing).toEqual([])
    inbox.close()
  })

  test('one that had arrived, though nobody was told, is a message all the same when it is discarded', async () => {
    const { inbox, chat, world, table, requests } = await atRest()
    world.weather = { ...world.weather, unanswered: 1 }
    const answer = chat.send('Once')
    const { client_id } = chat.view.outgoing[0]!
    await pass(100)
    expect(table).toHaveLength(1)
    chat.discard(client_id)
    await expect(answer).rejects.toThrow('Discarded')
    world.weather = { ...world.weather, unanswered: 0 }
    await pass(40_000)
    expect(requests.filter((request) => request.startsWith('1 POST'))).toHaveLength(1)
    expect(chat.view).toMatchObject({ messages: [{ content: 'Once' }], outgoing: [], status: 'live' })
    inbox.close()
  })
})
