import { describe, expect, test } from 'vitest'
import { openInbox } from '../../clients/inbox.ts'
import { openPasses } from '../../clients/passes.ts'
import type { Problem } from '../../clients/problem.ts'
import { onFakeTime, pass } from './at_rest.ts'
import { openWorld } from './world.ts'

onFakeTime()

const page = (status: number) => () =>
  new Response('<h1>Welcome to the guest network</h1>', { status, headers: { 'Content-Type': 'text/html' } })
const json = (body: unknown, status: number) => () => Response.json(body, { status })

// What a proxy, or the log-in page of a network, answers in the service's place.
const strangers: [string, (method: string) => Response][] = [
  ['a page', page(200)],
  ['a page that says 201', page(201)],
  ['a page that asks who is there', page(401)],
  ['a page that forbids', page(403)],
  ['a page that finds nothing', page(404)],
  ['nothing at all', () => new Response(null, { status: 204 })],
  ['JSON that is no JSON', () => new Response('{"id": 1', { headers: { 'Content-Type': 'application/json' } })],
  ['JSON of its own', json({ ok: true }, 200)],
  ['JSON of its own that says 201', json({ id: 'f3a1' }, 201)],
  ['null', json(null, 200)],
  ['JSON that asks who is there', json({ code: 401, message: 'Invalid JWT' }, 401)],
  ['JSON that forbids', json({ msg: 'Blocked by rule 949110' }, 403)],
  ['JSON that forbids, with an error that is no sentence', json({ error: { code: 1020 } }, 403)],
  ['JSON that finds nothing', json({ code: 'NOT_FOUND', message: 'Requested function was not found' }, 404)],
  ['null that finds nothing', json(null, 404)],
]

describe.each(strangers)('where a stranger answers %s', (_, stranger) => {
  test('nothing counts as sent, the view says offline, and all goes on when the service answers again', async () => {
    const ocean = openWorld()
    const client = ocean.openClient(1)
    const inbox = openInbox(ocean.asClient(client), { poll: [1e8, 1e9] })
    const chat = inbox.open(ocean.conversation)
    await pass(1000)
    ocean.write(2, { content: 'Hello' })
    await pass(100)
    ocean.world.stranger = stranger
    chat.send('Not lost')
    chat.markRead()
    ocean.tell('reservation.changed', { id: 1, previous_id: null, user_id: null })
    await pass(2000)
    expect(chat.view.outgoing).toMatchObject([{ content: 'Not lost', state: 'waiting', message: null }])
    expect(inbox.view.status).toBe('offline')
    expect(inbox.view.problem?.temporary).toBe(true)
    expect(ocean.table).toHaveLength(1)
    // Whoever asks Auth for a new token by way of a stranger may end up signed out.
    expect(client.log).not.toContain('refreshSession')

    ocean.world.stranger = null
    await pass(60_000)
    expect(ocean.table).toMatchObject([{ content: 'Hello', read: true }, { content: 'Not lost' }])
    expect(chat.view).toMatchObject({ messages: ocean.table, outgoing: [], status: 'live', problem: null })
    expect(inbox.view).toMatchObject({ status: 'live', problem: null, unread: 0 })
    inbox.close()
  })

  test('an inbox that opens then gets there in the end', async () => {
    const ocean = openWorld()
    ocean.write(2, { content: 'Hello' })
    ocean.world.stranger = stranger
    const client = ocean.openClient(1)
    const inbox = openInbox(ocean.asClient(client), { poll: [1e8, 1e9] })
    const chat = inbox.open(ocean.conversation)
    await pass(5000)
    expect(inbox.view).toMatchObject({ me: null, loaded: false, status: 'offline' })
    expect(chat.view).toMatchObject({ messages: [], loaded: false })
    expect(client.channels.map(({ topic }) => topic)).toEqual([])
    ocean.world.stranger = null
    await pass(60_000)
    expect(inbox.view).toMatchObject({ me: { id: 1 }, loaded: true, status: 'live', problem: null })
    expect(chat.view).toMatchObject({ messages: ocean.table, status: 'live', problem: null })
    inbox.close()
  })
})

test('an answer of 200 to a send is not the service, whatever it holds', async () => {
  const ocean = openWorld()
  const inbox = openInbox(ocean.asClient(ocean.openClient(1)), { poll: [1e8, 1e9] })
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  ocean.world.stranger = (method) => method === 'POST' ? Response.json({ id: 5 }) : null
  chat.send('Not lost')
  await pass(2000)
  expect(chat.view.outgoing).toMatchObject([{ state: 'waiting' }])
  ocean.world.stranger = null
  await pass(10_000)
  expect(ocean.table).toMatchObject([{ content: 'Not lost' }])
  inbox.close()
})

test('a stranger who asks for time is given it, within reason', async () => {
  const ocean = openWorld()
  const inbox = openInbox(ocean.asClient(ocean.openClient(1)), { poll: [1e8, 1e9] })
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  let asked = 0
  const busy = (seconds: string) => (method: string) =>
    method === 'POST' && ++asked
      ? new Response('<h1>Slowly</h1>', { status: 429, headers: { 'Retry-After': seconds } })
      : null
  ocean.world.stranger = busy('120')
  chat.send('Patience')
  await pass(119_000)
  expect(asked).toBe(1)
  expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 0, retryAfter: 120_000 } }])
  // Longer than a timer can run, which would then not wait at all.
  ocean.world.stranger = busy('1e9')
  await pass(62_000)
  expect(asked).toBe(2)
  await pass(3_500_000)
  expect(asked).toBe(2)
  ocean.world.stranger = null
  await pass(2_000_000)
  expect(ocean.table).toMatchObject([{ content: 'Patience' }])
  inbox.close()
})

test('a page that never ends with its pages is not read for ever', async () => {
  const ocean = openWorld()
  for (let count = 0; count < 3; count++) ocean.write(2, { content: `${count}` })
  const inbox = openInbox(ocean.asClient(ocean.openClient(1)), { poll: [1e8, 1e9] })
  const chat = inbox.open(ocean.conversation)
  await pass(1000)
  let reads = 0
  ocean.world.stranger = (method) =>
    method === 'GET' && ++reads > 0
      ? Response.json([], { headers: { Link: '<http://service/next>; rel="next"' } })
      : null
  chat.send('On')
  await pass(1000)
  expect(reads).toBeLessThan(20)
  inbox.close()
})

test('a pass that fails for a reason of its own is a problem like another, and is tried again', async () => {
  const heard: (Problem | null)[] = []
  let passes = 0
  const work = openPasses(() => {
    if (++passes < 3) throw new TypeError('Not what was thought')
    return Promise.resolve()
  }, (problem) => heard.push(problem))
  work.run()
  await pass(10_000)
  expect(heard).toMatchObject([
    { message: 'Not what was thought', temporary: true },
    { message: 'Not what was thought', temporary: true },
    null,
  ].map((problem) => problem && expect.objectContaining(problem)))
  work.close()
})
