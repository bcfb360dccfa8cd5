import { expect, test } from 'vitest'
import { type OperationId, reference } from '../../docs/reference/index.ts'
import type { Example } from '../../docs/reference/types.ts'
import { shortMetrics, toExample } from '../tools/example_values.ts'
import { faults, operations } from '../tools/openapi.ts'
import { useStack } from '../tools/own_stack.ts'
import { call } from '../tools/people.ts'
import { testKeys } from '../tools/stack.ts'

const stack = useStack({ SEED: 'demo' })

const addresses = { tomas: 'tomas.novak@example.com', ines: 'ines.carvalho@example.com' }

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
