import { expect, test, vi } from 'vitest'
import { ServiceError } from '../../clients/errors.ts'
import { createRetryLoop } from '../../clients/retry_loop.ts'
import { uploadAvatar } from '../../clients/uploads.ts'
import { advance, hear, intercept, leave, markRead, playAll, type Row, send, useFakeTime } from './fixture.ts'
import { withoutPolling } from './fixture.ts'

useFakeTime()

const page = (status: number, headers = {}) => () =>
  new Response('<h1>Welcome to the guest network</h1>', {
    status,
    headers: { 'Content-Type': 'text/html', ...headers },
  })
const json = (body: unknown, status = 200, headers = {}) => () => Response.json(body, { status, headers })
const toPosts = (respond: () => Response) => intercept((method) => method === 'POST' ? respond() : null)

// Responses of a proxy, a gateway or a captive portal in place of the service's.
const responses: Record<string, () => Response> = {
  'a page with 200': page(200),
  'a page with 201': page(201),
  'a page with 401': page(401),
  'a page with 403': page(403),
  'a page with 404': page(404),
  '204 without a body': () => new Response(null, { status: 204 }),
  'malformed JSON': () => new Response('{"id": 1', { headers: { 'Content-Type': 'application/json' } }),
  'other JSON with 200': json({ ok: true }),
  'other JSON with 201': json({ id: 'f3a1' }, 201),
  'null with 200': json(null),
  'other JSON with 401': json({ code: 401, message: 'Invalid JWT' }, 401),
  'other JSON with 403': json({ msg: 'Blocked by rule 949110' }, 403),
  'JSON with 403 whose error is not a string': json({ error: { code: 1020 } }, 403),
  'other JSON with 404': json({ code: 'NOT_FOUND', message: 'Requested function was not found' }, 404),
  'null with 404': json(null, 404),
}

// deno-fmt-ignore
playAll([
  ...Object.entries(responses).map(([answer, respond]): Row => [
    `if a proxy answers ${answer}, nothing counts as sent, the view is offline, and everything resumes afterwards`,
    withoutPolling,
    hear('Hello'), 100, intercept(respond), send('Not lost'), markRead,
    ({ changeReservation }) => changeReservation({ id: 1, date: '' }), 2000,
    { outgoing: [{ content: 'Not lost', state: 'waiting', message: null }], stored: ['Hello'] },
    // A token refresh through the proxy could sign the user out.
    { inbox: { status: 'offline', error: { temporary: true } }, refreshes: 0 },
    intercept(null), 60_000, { stored: ['Hello', 'Not lost'], readMarks: [true, false], isComplete: true },
    { outgoing: [], status: 'live', error: null, inbox: { status: 'live', error: null }, unread: 0 }]),
  ...Object.entries(responses).map(([answer, respond]): Row => [
    `an inbox that is opened while a proxy answers ${answer} loads afterwards`, withoutPolling,
    leave, hear('Hello'), intercept(respond), ({ openPage }) => openPage(), 4000,
    { inbox: { me: null, loaded: false, status: 'offline' }, messages: [], loaded: false, topics: [] },
    intercept(null), 60_000, { inbox: { me: { id: 1 }, loaded: true, status: 'live', error: null } },
    { isComplete: true, texts: ['Hello'], status: 'live', error: null }]),
  ['a 200 response to a send is not from the service, whatever its body', withoutPolling,
    toPosts(json({ id: 5 })), send('Not lost'), 2000, { outgoing: [{ state: 'waiting' }] },
    intercept(null), 10_000, { stored: ['Not lost'] }],
  ["a proxy's Retry-After is respected, up to an hour", withoutPolling,
    toPosts(page(429, { 'Retry-After': '120' })), send('Patience'), 119_000,
    { intercepted: 1, outgoing: [{ state: 'waiting', error: { status: 0, retryAfter: 120_000 } }] },
    // Longer than the maximum of setTimeout, which would then fire at once.
    toPosts(page(429, { 'Retry-After': '1e9' })), 62_000, { intercepted: 2 }, 3_500_000, { intercepted: 2 },
    intercept(null), 2_000_000, { stored: ['Patience'] }],
  ['an endless chain of empty pages is not followed', { ...withoutPolling, messages: 3 },
    intercept((method) => method === 'GET' ? json([], 200, { Link: '<?next>; rel="next"' })() : null), send('On'), 1000,
    ({ server }) => expect(server.intercepted.length).toBeGreaterThan(0),
    ({ server }) => expect(server.intercepted.length).toBeLessThan(20)],
])

const open = new AbortController().signal

test('an unexpected exception in a retry loop is reported as temporary and retried', async () => {
  const results: (ServiceError | null)[] = []
  const task = () => {
    if (results.length < 2) throw new TypeError('Unexpected')
    return Promise.resolve()
  }
  const loop = createRetryLoop(open, task, (error) => results.push(error))
  loop.run()
  await advance(10_000)
  const failure = expect.objectContaining({ message: 'Unexpected', temporary: true })
  expect(results).toMatchObject([failure, failure, null])
})

test('a retry loop is done when a run has succeeded, and not while one is due or after a refusal', async () => {
  let refuses = true
  const loop = createRetryLoop(open, () => refuses ? Promise.reject(new ServiceError('No', 403)) : Promise.resolve())
  loop.run()
  expect(loop.isDone()).toBe(false)
  await advance(1)
  expect(loop.isDone()).toBe(false)
  refuses = false
  loop.run()
  await advance(1)
  expect(loop.isDone()).toBe(true)
  loop.run()
  expect(loop.isDone()).toBe(false)
})

test('an avatar takes three tries at most, what is refused one, and none once its signal is aborted', async () => {
  const tries = async (statuses: number[], signal?: AbortSignal) => {
    let sent = 0
    const upload = () => Promise.resolve({ error: statuses[sent++] && { statusCode: statuses[sent - 1] } })
    vi.stubGlobal('XMLHttpRequest', signal && Object)
    const files = { upload, getPublicUrl: (path: string) => ({ data: { publicUrl: path } }) }
    const data = { session: { access_token: 'x', user: { id: 'me' } } }
    const auth = { getSession: () => Promise.resolve({ data }) }
    const client = { auth, storage: { from: () => files }, realtime: {} } as never
    const uploaded = uploadAvatar(client, new Blob(['x']), { signal }).then(() => 'there', ({ status }) => status)
    await advance(10_000)
    return [sent, await uploaded]
  }
  expect(await tries([], AbortSignal.abort())).toEqual([0, 0])
  expect(await tries([503, 503])).toEqual([3, 'there'])
  expect(await tries([503, 503, 503])).toEqual([3, 503])
  expect(await tries([413])).toEqual([1, 413])
})
