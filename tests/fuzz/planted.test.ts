import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { operations } from '../tools/openapi.ts'
import type { World } from './arbitraries.ts'
import { fuzz } from './run.ts'
import { type Got, send } from './wire.ts'
import { makeWorld } from './world.ts'

// Each stands between the fuzzer and the service and breaks one rule: it answers in its stead, or changes the answer.
type Plant = (
  asked: { url: URL; text: string; body: Record<string, unknown> | null },
  answer: Got,
) => Partial<Got> | null

const changed = (got: Got, change: (body: Record<string, unknown>) => void): Partial<Got> | null => {
  if (got.status !== 200 && got.status !== 201) return null
  const body = JSON.parse(got.text)
  change(body)
  return { text: JSON.stringify(body) }
}
const me = (got: Got, status = 200): Partial<Got> => ({ ...got, status })

const plants: [fault: string, route: string, offence: string, plant: Plant][] = [
  [
    'an age that is not checked',
    'PATCH /users/profile',
    'takes what is wrong',
    ({ body }, got) =>
      got.status === 400 && typeof body?.age === 'number' && JSON.parse(got.text).error.startsWith('age')
        ? me(got)
        : null,
  ],
  [
    'a NUL that reaches the database',
    'POST /conversations/{id}/messages',
    '500',
    ({ text }, got) => got.status === 400 && text.includes('\\u0000') ? me(got, 500) : null,
  ],
  [
    'a page size that is not checked',
    'GET /conversations/{id}/messages',
    'takes what is wrong',
    ({ url }, got) => got.status === 400 && url.searchParams.get('limit') === '0' ? me(got) : null,
  ],
  [
    'an id that is parsed as JavaScript does',
    'GET /conversations/{id}',
    '500',
    ({ url }, got) => got.status === 400 && /\/1e\d+$/.test(url.pathname) ? me(got, 500) : null,
  ],
  [
    'an e-mail that slips into the public profile',
    'GET /users/{id}',
    'has email, which is not documented',
    (_, got) => changed(got, (body) => body.email = 'somebody@example.com'),
  ],
  [
    'a timestamp without milliseconds',
    'POST /conversations/{id}/messages',
    'body.createdAt does not match',
    (_, got) => changed(got, (body) => body.createdAt = String(body.createdAt).replace(/\.\d+/, '')),
  ],
  [
    'an error of the database that is echoed',
    'POST /conversations',
    'tells of the inside',
    (_, got) => got.status === 404 ? { text: '{"error": "relation \\"public.users\\" violates"}' } : null,
  ],
  [
    'a status nobody documented',
    'PUT /users/profile/interests',
    '207 is not documented',
    ({ body }, got) =>
      Array.isArray(body?.interest_ids) && body.interest_ids.length > 5 && got.status === 200 ? me(got, 207) : null,
  ],
  [
    'a name that may not hold an apostrophe',
    'PATCH /users/profile',
    'refuses what is right',
    ({ body }, got) =>
      typeof body?.city === 'string' && body.city.includes("'") && got.status === 200
        ? {
          status: 400,
          text: '{"error": "city: is not allowed"}',
          headers: { ...got.headers, 'cache-control': 'no-store' },
        }
        : null,
  ],
]

let world: World
let server: Server
let base: string
let planted: Plant = () => null
// Anew for each plant: what was asked for before may have hidden a profile, or blocked somebody.
beforeEach(async () => {
  ;({ world } = await makeWorld())
})
beforeAll(async () => {
  server = createServer({ maxHeaderSize: 2 ** 20 }, async (request: IncomingMessage, response) => {
    const text = Buffer.concat(await request.toArray()).toString()
    const headers = { ...request.headers } as Record<string, string>
    delete headers['content-length']
    const got = await send(inject('stack').origin, {
      method: request.method!,
      path: request.url!,
      headers,
      ...(text !== '' && { body: text }),
    }).catch(() => null)
    if (!got) return void response.destroy()
    let body = null
    try {
      body = JSON.parse(text)
    } catch { /* what is no JSON has no fields */ }
    const answer = { ...got, ...planted({ url: new URL(request.url!, 'http://x'), text, body }, got) }
    const kept = Object.entries(answer.headers).filter(([name]) =>
      !/^(content-length|transfer-encoding|connection)$/.test(name)
    )
    response.writeHead(answer.status, Object.fromEntries(kept) as Record<string, string>).end(answer.text)
  })
  // Else it closes a connection as the next plant's first request goes out on it, five seconds after the last one of the plant before.
  server.keepAliveTimeout = 0
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/functions/v1`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

// Of each kind one, and all of them with the full run.
const quick = [
  'an age that is not checked',
  'an e-mail that slips into the public profile',
  'an error of the database that is echoed',
]
const tried = process.env.FUZZ ? plants : plants.filter(([fault]) => quick.includes(fault))

test.each(tried)('%s is found in %s within a minute', async (_, route, offence, plant) => {
  planted = plant
  const operation = operations.find(({ name }) => name === route)!
  const seed = Date.now() % 2 ** 31
  const found = await fuzz(operation, { base, world, runs: 20_000, seed })
  expect(found, `seed ${seed}`).toContain(offence)
}, 60_000)

test('without a plant nothing is found', async () => {
  planted = () => null
  for (const route of new Set(tried.map(([, route]) => route))) {
    const operation = operations.find(({ name }) => name === route)!
    expect(await fuzz(operation, { base, world, runs: 25, seed: 7 })).toBeNull()
  }
})
