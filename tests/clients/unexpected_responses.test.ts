import { describe, expect, test } from 'vitest'
import type { ServiceError } from '../../clients/errors.ts'
import { createRetryLoop } from '../../clients/retry_loop.ts'
import { advance, openAs, openFixture, useFakeTime, withoutPolling } from './fixture.ts'
import { createSimulator } from './network_simulator.ts'

useFakeTime()

const page = (status: number) => () =>
  new Response('<h1>Welcome to the guest network</h1>', { status, headers: { 'Content-Type': 'text/html' } })
const json = (body: unknown, status: number) => () => Response.json(body, { status })

// Responses of a proxy, a gateway or a captive portal in place of the service's.
const responses: [string, (method: string) => Response][] = [
  ['a page with 200', page(200)],
  ['a page with 201', page(201)],
  ['a page with 401', page(401)],
  ['a page with 403', page(403)],
  ['a page with 404', page(404)],
  ['204 without a body', () => new Response(null, { status: 204 })],
  ['malformed JSON', () => new Response('{"id": 1', { headers: { 'Content-Type': 'application/json' } })],
  ['other JSON with 200', json({ ok: true }, 200)],
  ['other JSON with 201', json({ id: 'f3a1' }, 201)],
  ['null with 200', json(null, 200)],
  ['other JSON with 401', json({ code: 401, message: 'Invalid JWT' }, 401)],
  ['other JSON with 403', json({ msg: 'Blocked by rule 949110' }, 403)],
  ['JSON with 403 whose error is not a string', json({ error: { code: 1020 } }, 403)],
  ['other JSON with 404', json({ code: 'NOT_FOUND', message: 'Requested function was not found' }, 404)],
  ['null with 404', json(null, 404)],
]

describe.each(responses)('if a proxy answers %s', (_, respond) => {
  test('nothing counts as sent, the view is offline, and everything resumes afterwards', async () => {
    const { inbox, chat, client, server, insertMessage, broadcast, table } = await openFixture(withoutPolling)
    insertMessage(2, { content: 'Hello' })
    await advance(100)
    server.intercept = respond
    chat.send('Not lost')
    chat.markRead()
    broadcast('reservation.changed', { id: 1, previous_id: null, user_id: null })
    await advance(2000)
    expect(chat.view.outgoing).toMatchObject([{ content: 'Not lost', state: 'waiting', message: null }])
    expect(inbox.view.status).toBe('offline')
    expect(inbox.view.error?.temporary).toBe(true)
    expect(table).toHaveLength(1)
    // A token refresh through the proxy could sign the user out.
    expect(client.log).not.toContain('refreshSession')

    server.intercept = null
    await advance(60_000)
    expect(table).toMatchObject([{ content: 'Hello', read: true }, { content: 'Not lost' }])
    expect(chat.view).toMatchObject({ messages: table, outgoing: [], status: 'live', error: null })
    expect(inbox.view).toMatchObject({ status: 'live', error: null, unread: 0 })
  })

  test('an inbox that is opened meanwhile loads afterwards', async () => {
    const simulator = createSimulator()
    simulator.insertMessage(2, { content: 'Hello' })
    simulator.server.intercept = respond
    const { inbox, chat, client } = openAs(simulator, 1, withoutPolling)
    await advance(5000)
    expect(inbox.view).toMatchObject({ me: null, loaded: false, status: 'offline' })
    expect(chat.view).toMatchObject({ messages: [], loaded: false })
    expect(client.channels.map(({ topic }) => topic)).toEqual([])
    simulator.server.intercept = null
    await advance(60_000)
    expect(inbox.view).toMatchObject({ me: { id: 1 }, loaded: true, status: 'live', error: null })
    expect(chat.view).toMatchObject({ messages: simulator.table, status: 'live', error: null })
  })
})

test('200 in answer to a send is not the service, whatever the body', async () => {
  const { chat, server, table } = await openFixture(withoutPolling)
  server.intercept = (method) => method === 'POST' ? Response.json({ id: 5 }) : null
  chat.send('Not lost')
  await advance(2000)
  expect(chat.view.outgoing).toMatchObject([{ state: 'waiting' }])
  server.intercept = null
  await advance(10_000)
  expect(table).toMatchObject([{ content: 'Not lost' }])
})

test("a proxy's Retry-After is respected, up to an hour", async () => {
  const { chat, server, table } = await openFixture(withoutPolling)
  let attempts = 0
  const busy = (seconds: string) => (method: string) =>
    method === 'POST' && ++attempts
      ? new Response('<h1>Slowly</h1>', { status: 429, headers: { 'Retry-After': seconds } })
      : null
  server.intercept = busy('120')
  chat.send('Patience')
  await advance(119_000)
  expect(attempts).toBe(1)
  expect(chat.view.outgoing).toMatchObject([{ state: 'waiting', error: { status: 0, retryAfter: 120_000 } }])
  // Longer than the maximum of setTimeout, which would then fire at once.
  server.intercept = busy('1e9')
  await advance(62_000)
  expect(attempts).toBe(2)
  await advance(3_500_000)
  expect(attempts).toBe(2)
  server.intercept = null
  await advance(2_000_000)
  expect(table).toMatchObject([{ content: 'Patience' }])
})

test('an endless chain of empty pages is not followed', async () => {
  const { chat, server } = await openFixture(withoutPolling, 3)
  let reads = 0
  server.intercept = (method) =>
    method === 'GET' && ++reads > 0
      ? Response.json([], { headers: { Link: '<http://service/next>; rel="next"' } })
      : null
  chat.send('On')
  await advance(1000)
  expect(reads).toBeLessThan(20)
})

test('an unexpected exception in a retry loop is reported as temporary and retried', async () => {
  const results: (ServiceError | null)[] = []
  let runs = 0
  const loop = createRetryLoop(() => {
    if (++runs < 3) throw new TypeError('Unexpected')
    return Promise.resolve()
  }, (error) => results.push(error))
  loop.run()
  await advance(10_000)
  const failure = expect.objectContaining({ message: 'Unexpected', temporary: true })
  expect(results).toMatchObject([failure, failure, null])
  loop.close()
})
