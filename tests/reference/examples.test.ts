import { expect, test, vi } from 'vitest'
import { type OperationId, reference } from '../../docs/reference/index.ts'
import type { Example } from '../../docs/reference/types.ts'
import { shortMetrics, toExample } from '../tools/example_values.ts'
import { faults, operations } from '../tools/openapi.ts'
import { useStack } from '../tools/own_stack.ts'
import { call } from '../tools/people.ts'
import { dashboardCookie, testKeys } from '../tools/stack.ts'

const stack = useStack({ SEED: 'demo' })

const addresses = { tomas: 'tomas.novak@example.com', ines: 'ines.carvalho@example.com' }

test('the demo world has something for an admin to do', async () => {
  const { origin } = new URL(stack.base)
  const headers = { apikey: testKeys.secretKey }
  const read = async (path: string) => (await call('GET', `${origin}/rest/v1/${path}`, undefined, { headers })).body
  const rpc = async (name: string, json: object = {}) =>
    (await call('POST', `${origin}/rest/v1/rpc/${name}`, json, { headers })).body
  const reports: { report: number; reason: string }[] = await read('moderation_queue?order=report')
  expect(reports.map(({ reason }) => reason)).toEqual(['harassment', 'spam', 'impersonation'])
  const evidence = await rpc('read_evidence', { report: reports[0]!.report })
  expect(evidence.map(({ is_by_reported }: { is_by_reported: boolean }) => is_by_reported)).toEqual([true, false, true])
  const restricted: { status: string; is_hidden: boolean }[] = await rpc('find_people', { query: '', restricted: true })
  expect(restricted.map(({ status, is_hidden }) => is_hidden ? 'hidden' : status).sort()).toEqual([
    'hidden',
    'suspended',
  ])
  const dead = async () =>
    (await rpc('describe_queues')).filter((queue: { dead: number }) => queue.dead).map(({ queue }: { queue: string }) =>
      queue
    )
  expect(await dead()).toEqual(['mail'])
  const headersOfPage = { Cookie: await dashboardCookie(stack.dashboard) }
  await vi.waitUntil(async () => {
    const page = await (await fetch(`${origin}/mail`, { headers: headersOfPage })).text()
    return page.includes('to ines.carvalho@example.com') && page.includes('to tomas.novak@example.com')
  }, { timeout: 30_000, interval: 500 })
  // The worker leaves it to the operator.
  expect(await dead()).toEqual(['mail'])
})

/** Logs the two people in, and signs somebody up who leaves. */
const logIn = async () => {
  const of = async (path: string, json: object) => (await call('POST', `${stack.base}/auth/${path}`, json)).body
  const session = (email: string) => of('login', { email, password: 'voyage-2026' })
  const [tomas, ines] = [await session(addresses.tomas), await session(addresses.ines)]
  const leaving = await of('signup', { email: 'sam.lee@example.com', password: 'leaving-2026', name: 'Sam Lee' })
  return { tomas, ines, leaving }
}

const send = (id: OperationId, example: Example, sessions: Awaited<ReturnType<typeof logIn>>) => {
  const { method, path } = operations.find(({ operationId }) => operationId === id)!
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => String(example.path![name]))
  const query = new URLSearchParams(Object.entries(example.query ?? {}).map(([name, value]) => [name, String(value)]))
  // A refresh token works once, in one session.
  const json = id === 'refreshSession' ? { refresh_token: sessions.tomas.refresh_token } : example.json
  const who = example.as
  const token = who && who !== 'secret key' ? sessions[who].access_token : undefined
  const headers = { ...example.headers, ...(who === 'secret key' && { apikey: testKeys.secretKey }) }
  return call(method, `${stack.base}${filled}${query.size > 0 ? `?${query}` : ''}`, json, { token, headers })
}

test('every example of the reference works on the demo world, and is answered as the reference says', async () => {
  const sessions = await logIn()
  const answers: Record<string, unknown> = {}
  const wrong: string[] = []
  for (const [id, { example }] of Object.entries(reference) as [OperationId, { example: Example }][]) {
    const { status, body, text } = await send(id, example, sessions)
    if (example.answer) {
      if (status !== 404) wrong.push(`${id}: ${status} instead of 404`)
      continue
    }
    if (status >= 300) wrong.push(`${id}: ${status} ${text}`)
    const schema = operations.find(({ operationId }) => operationId === id)!.answers[status]
    const answer = body ?? (id === 'getMetrics' ? shortMetrics(text) : undefined)
    if (schema) wrong.push(...faults(schema, answer, id))
    answers[id] = { status, body: toExample(answer, JSON.stringify(reference)) }
  }
  expect(wrong).toEqual([])
  // `npx vitest run tests/reference/examples.test.ts -u` records them; then `npm run openapi`.
  await expect(`${JSON.stringify(answers, null, 2)}\n`).toMatchFileSnapshot('../../docs/reference/examples.json')
})
