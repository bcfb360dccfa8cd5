import type { ChildProcess } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, call, uniqueEmail } from '../tools/people.ts'
import { listen } from '../tools/ports.ts'
import { until } from '../tools/search.ts'
import { startStack, stopStack } from '../tools/stack.ts'

// deno-lint-ignore no-explicit-any
type Any = any
type Behaviour = (answer: ServerResponse, texts: string[]) => void

const json = (answer: ServerResponse, status: number, body: unknown) =>
  answer.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
const vectors = (answer: ServerResponse, list: unknown[]) =>
  json(answer, 200, {
    object: 'list',
    model: 'text-embedding-3-small',
    data: list.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    usage: { prompt_tokens: 1, total_tokens: 1 },
  })
/** A bag of words: texts that share words have similar vectors. */
const vectorOf = (text: string): number[] => {
  const vector = Array.from({ length: 384 }, () => 0.001)
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
    vector[[...word].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 384, 7)]! += 1
  }
  return vector
}
/** A provider that works, and for which two words mean the same. */
const working: Behaviour = (answer, texts) =>
  vectors(answer, texts.map((text) => vectorOf(text.replaceAll('trekking', 'hiking'))))

const failing: Record<string, Behaviour> = {
  'answers 500': (answer) => json(answer, 500, { error: { message: 'Oops' } }),
  'hangs': (answer) => void setTimeout(() => answer.end(), 30_000).unref(),
}

let behaviour = working
const requests: { path?: string; key?: string; model: string; dimensions: number; input: string[] }[] = []
const provider = createServer(async (request, answer) => {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  const body = JSON.parse(Buffer.concat(chunks).toString())
  requests.push({ path: request.url, key: request.headers.authorization, ...body })
  behaviour(answer, [body.input].flat())
})

let port: number
let base: string
let stack: ChildProcess
let token: string
let count = 0

const search = (parameters: Record<string, string>, options = {}) =>
  call('GET', `${base}/users/search?${new URLSearchParams(parameters)}`, undefined, options)
const health = () => call('GET', `${base}/health`)
const write = (fields: object) => call('PATCH', `${base}/users/profile`, fields, { token })
const queueIsEmpty = ({ body }: Answer) => body.embeddings.pending === 0
const timed = async (ask: () => Promise<Answer>): Promise<[Answer, number]> => {
  const start = performance.now()
  return [await ask(), performance.now() - start]
}

beforeAll(async () => {
  port = await listen(provider)
  const started = await startStack({ OPENAI_API_KEY: 'sk-test', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` })
  base = started.base
  stack = started.process
  const account = { email: uniqueEmail(), password: 'correct horse', name: 'Gribwax', bio: 'hiking' }
  const signedUp = await call('POST', `${base}/auth/signup`, { ...account, city: 'Ortho', is_searchable: true })
  token = signedUp.body.access_token
  await call('POST', `${base}/auth/signup`, {
    ...account,
    email: uniqueEmail(),
    name: 'Hulm',
    biography: 'hiking',
    is_searchable: true,
  })
})
afterAll(async () => {
  await stopStack(stack)
  provider.closeAllConnections()
  provider.close()
})

test('an OpenAI-compatible provider is asked for 384 dimensions, and its vectors are searched', async () => {
  const { body } = await until(health, queueIsEmpty)
  expect(body).toEqual({
    status: 'ok',
    database: 'ok',
    embeddings: { provider: 'openai', model: 'text-embedding-3-small', pending: 0 },
  })
  // Occasionally the vector of a query is late.
  const found = await until(() => search({ q: 'trekking', explain: 'true' }), ({ body }) => body.hits.length > 0)
  expect(found.body.hits.map(({ name }: Any) => name)).toEqual(['Hulm'])
  expect(found.body.hits[0]._rankingScoreDetails).toMatchObject({ words: null, ratio: 0.5 })
  expect(requests.length).toBeGreaterThan(1)
  for (const request of requests) {
    expect(request).toMatchObject({ path: '/v1/embeddings', key: 'Bearer sk-test', dimensions: 384 })
    expect(request.model).toBe('text-embedding-3-small')
    // E-mail and name must not be sent to the provider.
    expect(JSON.stringify(request.input)).not.toMatch(/@|Gribwax|Hulm/)
  }
})

test('the same query is embedded once', async () => {
  const times = () => requests.filter(({ input }) => input.includes('trekking')).length
  const before = times()
  await search({ q: 'trekking' })
  await search({ q: ' trekking  ' }, { token })
  expect(times()).toBe(before)
})

const expectKeywordResults = async () => {
  // Fewer than five failures in a row, so that the circuit breaker stays closed.
  for (const [index, options] of [{}, { token }, {}, { token }].entries()) {
    const q = `hulm x${count++}`
    const [{ status, body }, milliseconds] = await timed(() => search({ q, explain: 'true' }, options))
    expect({ status, names: body.hits?.map(({ name }: Any) => name) }).toEqual({ status: 200, names: ['Hulm'] })
    expect(body).toMatchObject({ query: q, estimatedTotalHits: 1, limit: 20, offset: 0 })
    expect(body.hits[0]._rankingScoreDetails).toMatchObject({ cosine: null, semantic: 0 })
    expect(milliseconds, `search ${index}`).toBeLessThan(5000)
  }
  for (const fields of [{ biography: `hiking y${count++}` }, { is_searchable: false }, { is_searchable: true }]) {
    const [{ status }, milliseconds] = await timed(() => write(fields))
    expect(status).toBe(200)
    expect(milliseconds).toBeLessThan(5000)
    expect((await search({})).body.estimatedTotalHits).toBe(fields.is_searchable === false ? 1 : 2)
  }
  const report = await health()
  expect(report.body).toMatchObject({ status: 'ok', embeddings: { pending: expect.any(Number) } })
  expect(report.body.embeddings.pending).toBeGreaterThan(0)
}

/**
 * A success closes the circuit breaker, and the queue is processed. On a busy machine the first attempt may fail as
 * well, and ten more seconds pass.
 */
const expectRecovery = async () => {
  behaviour = working
  const q = () => search({ q: `hiking ${count++}`, explain: 'true' })
  const found = await until(q, ({ body }) => body.hits[0]?._rankingScoreDetails.cosine > 0, 40)
  expect(found.body.hits[0]._rankingScoreDetails.cosine).toBeGreaterThan(0)
}

const cases = Object.entries(failing)
test.each(cases)('if the provider %s, searches return keyword results and profiles can be changed', async (_, how) => {
  behaviour = how
  await expectKeywordResults()
  await expectRecovery()
})

test('if the provider is unreachable, searches return keyword results and profiles can be changed', async () => {
  provider.close()
  provider.closeAllConnections()
  await expectKeywordResults()
  await listen(provider, port)
  await expectRecovery()
})

test('a provider that hangs is skipped after five searches and asked again ten seconds later', async () => {
  behaviour = failing.hangs!
  for (let time = 0; time < 5; time++) await search({ q: `hulm hanging ${time}` })
  const durations: number[] = []
  for (let time = 0; time < 5; time++) {
    const [answer, milliseconds] = await timed(() => search({ q: `hulm hanging still ${time}` }))
    expect(answer.body.hits.length).toBe(1)
    durations.push(milliseconds)
  }
  // Below the time limit of a query's vector. Only the fastest counts, because a busy machine can delay any of them.
  expect(Math.min(...durations)).toBeLessThan(300)
  expect(requests.some(({ input }) => input.some((text) => text.startsWith('hulm hanging still')))).toBe(false)
  await expectRecovery()
})

test('once the provider recovers, the whole queue is processed', async () => {
  behaviour = working
  const { body } = await until(health, queueIsEmpty, 110)
  expect(body.embeddings.pending).toBe(0)
  const found = await search({ q: 'trekking', explain: 'true' })
  expect(found.body.hits.map(({ name }: Any) => name).toSorted()).toEqual(['Gribwax', 'Hulm'])
  for (const hit of found.body.hits) expect(hit._rankingScoreDetails.cosine).toBeGreaterThan(0.3)
})
