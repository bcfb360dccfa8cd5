import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import type { HttpResponse } from '../tools/http_client.ts'
import { operations } from '../tools/openapi.ts'
import type { Fixture } from './arbitraries.ts'
import { makeFixture } from './fixture.ts'
import { fuzz, send } from './run.ts'

// A proxy between the fuzzer and the service seeds these faults: each changes some responses to break one rule.
type Fault = (
  request: { url: URL; text: string; body: Record<string, unknown> | null },
  response: HttpResponse,
) => Partial<HttpResponse> | null

const withBody = (
  response: HttpResponse,
  change: (body: Record<string, unknown>) => void,
): Partial<HttpResponse> | null => {
  if (response.status !== 200 && response.status !== 201) return null
  const body = JSON.parse(response.text)
  change(body)
  return { text: JSON.stringify(body) }
}
const withStatus = (response: HttpResponse, status = 200): Partial<HttpResponse> => ({ ...response, status })

const faults: [name: string, route: string, violation: string, fault: Fault][] = [
  [
    'an age that is not validated',
    'PATCH /users/profile',
    'accepts an invalid request',
    ({ body }, response) =>
      response.status === 400 && typeof body?.age === 'number' && JSON.parse(response.text).error.startsWith('age')
        ? withStatus(response)
        : null,
  ],
  [
    'a NUL that reaches the database',
    'POST /conversations/{id}/messages',
    '500',
    ({ text }, response) => response.status === 400 && text.includes('\\u0000') ? withStatus(response, 500) : null,
  ],
  [
    'a page size that is not validated',
    'GET /conversations/{id}/messages',
    'accepts an invalid request',
    ({ url }, response) =>
      response.status === 400 && url.searchParams.get('limit') === '0' ? withStatus(response) : null,
  ],
  [
    'an id that is parsed with Number()',
    'GET /conversations/{id}',
    '500',
    ({ url }, response) => response.status === 400 && /\/1e\d+$/.test(url.pathname) ? withStatus(response, 500) : null,
  ],
  [
    'an e-mail address in the public profile',
    'GET /users/{id}',
    'has email, which is not documented',
    (_, response) => withBody(response, (body) => body.email = 'somebody@example.com'),
  ],
  [
    'a timestamp without milliseconds',
    'POST /conversations/{id}/messages',
    'body.createdAt is no timestamp',
    (_, response) => withBody(response, (body) => body.createdAt = String(body.createdAt).replace(/\.\d+/, '')),
  ],
  [
    'a database error in the response',
    'POST /conversations',
    'exposes internals',
    (_, response) => response.status === 404 ? { text: '{"error": "relation \\"public.users\\" violates"}' } : null,
  ],
  [
    'an undocumented status',
    'PUT /users/profile/interests',
    '207 is not documented',
    ({ body }, response) =>
      Array.isArray(body?.interest_ids) && body.interest_ids.length > 5 && response.status === 200
        ? withStatus(response, 207)
        : null,
  ],
  [
    'a city that must not contain an apostrophe',
    'PATCH /users/profile',
    'rejects a valid request',
    ({ body }, response) =>
      typeof body?.city === 'string' && body.city.includes("'") && response.status === 200
        ? {
          status: 400,
          text: '{"error": "city: is not allowed"}',
          headers: { ...response.headers, 'cache-control': 'no-store' },
        }
        : null,
  ],
  [
    'a price that is not validated',
    'POST /conversations/{id}/reservations',
    'accepts an invalid request',
    ({ body }, response) =>
      response.status === 400 && typeof body?.price === 'number' && JSON.parse(response.text).error.startsWith('price')
        ? withStatus(response, 201)
        : null,
  ],
  [
    'an e-mail address of the partner',
    'GET /users/me/reservations',
    'has email, which is not documented',
    (_, response) =>
      response.status === 200 && response.text !== '[]'
        ? { text: response.text.replaceAll('"partner":{', '"partner":{"email":"somebody@example.com",') }
        : null,
  ],
  [
    'a pin that is not validated',
    'PUT /conversations/{id}/state',
    'accepts an invalid request',
    ({ body }, response) =>
      response.status === 400 && body?.pinned !== undefined && JSON.parse(response.text).error.startsWith('pinned')
        ? withStatus(response)
        : null,
  ],
  [
    'the decision on a report',
    'GET /users/me/reports',
    'has resolution, which is not documented',
    (_, response) =>
      response.status === 200
        ? {
          text:
            '[{"id":1,"status":"resolved","reason":"spam","createdAt":"2026-01-01T00:00:00.000Z","resolvedAt":null,' +
            '"resolution":"warn"}]',
        }
        : null,
  ],
  [
    'a reason that is not validated',
    'POST /users/me/reports',
    'accepts an invalid request',
    ({ body }, response) =>
      response.status === 400 && typeof body?.reason === 'string' &&
        JSON.parse(response.text).error.startsWith('reason')
        ? withStatus(response, 201)
        : null,
  ],
]

let fixture: Fixture
let server: Server
let base: string
let seeded: Fault = () => null
// A new fixture for each fault: earlier requests may have hidden a profile or blocked a user.
beforeEach(async () => {
  ;({ fixture } = await makeFixture())
})
beforeAll(async () => {
  server = createServer({ maxHeaderSize: 2 ** 20 }, async (request: IncomingMessage, outgoing) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const headers = { ...request.headers } as Record<string, string>
    delete headers['content-length']
    const response = await send(inject('stack').origin, {
      method: request.method!,
      path: request.url!,
      headers,
      ...(text !== '' && { body: text }),
    }).catch(() => null)
    if (!response) return void outgoing.destroy()
    let body = null
    try {
      body = JSON.parse(text)
    } catch { /* A body that is not JSON has no fields. */ }
    const changed = { ...response, ...seeded({ url: new URL(request.url!, 'http://x'), text, body }, response) }
    const kept = Object.entries(changed.headers).filter(([name]) =>
      !/^(content-length|transfer-encoding|connection)$/.test(name)
    )
    outgoing.writeHead(changed.status, Object.fromEntries(kept) as Record<string, string>).end(changed.text)
  })
  // By default it closes idle connections after five seconds, possibly just as the next fault's first request is sent.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/functions/v1`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

// One of each kind; the full run has all.
const quick = [
  'an age that is not validated',
  'an e-mail address in the public profile',
  'a database error in the response',
  'a pin that is not validated',
]
const tested = process.env.FUZZ ? faults : faults.filter(([name]) => quick.includes(name))

test.each(tested)('%s is found in %s within a minute', async (_, route, violation, fault) => {
  seeded = fault
  const operation = operations.find(({ name }) => name === route)!
  const seed = Date.now() % 2 ** 31
  const found = await fuzz(operation, { base, fixture, runs: 20_000, seed })
  expect(found, `seed ${seed}`).toContain(violation)
}, 60_000)

test('without a fault nothing is found', async () => {
  seeded = () => null
  for (const route of new Set(tested.map(([, route]) => route))) {
    const operation = operations.find(({ name }) => name === route)!
    expect(await fuzz(operation, { base, fixture, runs: 25, seed: 7 })).toBeNull()
  }
})
