// How the functions use a provider of embeddings: the offline model, or an API as OpenAI's. The quality of the vectors
// is not looked at.
import { check, equal, until } from './check.ts'

check('the offline model needs no call that the Edge Runtime denies after the start', {}, async () => {
  const { offline } = await import('../../functions/_shared/embeddings/offline.ts')
  const { knownWords } = await import('../../functions/_shared/embeddings/query_vector.ts')
  for (const name of Object.keys(Deno).filter((name) => name.endsWith('Sync'))) {
    Object.defineProperty(Deno, name, { value: () => Promise.reject(new Error(`${name} was called`)) })
  }
  equal((await offline().embed(['jazz'], AbortSignal.timeout(60_000)))[0]!.some((value) => value !== 0), true)
  equal([...await knownWords('Jazz qzxvbnk')], ['jazz'])
})

/** A queue that gives `texts` texts `times` times, and what the functions have told the database. */
const openQueue = async (times: number, texts = 1) => {
  const { provideQuery } = await import('../../functions/_shared/rpc.ts')
  const queue = { left: times, claims: [] as string[], saved: 0, refused: [] as unknown[] }
  provideQuery((text, values) => {
    if (text.includes('fail_embeddings')) queue.refused.push(values.at(-1))
    if (text.includes('save_embeddings')) queue.saved += (values[1] as unknown[]).length
    const isClaim = text.includes('claim_embeddings') && queue.left-- > 0
    if (isClaim) queue.claims.push(JSON.stringify(values))
    const job = { kind: 'profile', id: 1, text: 'x', parts: ['y'], content_hash: 'x' }
    return Promise.resolve([{ body: JSON.stringify(isClaim ? Array(texts).fill(job) : []) }])
  })
  return queue
}

const vector = Array.from({ length: 384 }, () => 0.05)
/** What the worker sends to an API to learn whether it works at all. */
const harmless = 'a'

/** A search and a run of the queue, after which all their time limits pass, of a hundredth of their length. */
const searchAndDrain = async () => {
  const [limits, lengths]: [AbortSignal[], number[]] = [[], []]
  const { timeout } = AbortSignal
  AbortSignal.timeout = (ms) => {
    lengths.push(ms)
    return limits[limits.push(timeout.call(AbortSignal, ms / 100)) - 1]!
  }
  const queue = await openQueue(1)
  const { queryVector } = await import('../../functions/_shared/embeddings/query_vector.ts')
  const { drain } = await import('../../functions/_shared/embeddings/drain.ts')
  const found = { vector: await queryVector('hiking'), made: await drain(), refused: queue.refused, lengths }
  await until(() => limits.every(({ aborted }) => aborted))
  // A rejection that nothing has handled would end the worker now.
  await new Promise((resolve) => setTimeout(resolve))
  return found
}
check(
  'if the provider never answers, searches have no vector, the job has failed, the process goes on',
  { OPENAI_API_KEY: 'sk-test' },
  async () => {
    const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, () => new Promise(() => {}))
    Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1`)
    equal(await searchAndDrain(), { vector: null, made: 0, refused: [false], lengths: [400, 20_000] })
  },
)
check('what is no vector of 384 numbers for each text is no vector', { OPENAI_API_KEY: 'sk-test' }, async () => {
  const data = (...list: unknown[]) => Response.json({ data: list.map((embedding, index) => ({ index, embedding })) })
  const answers = [
    () => new Response('<h1>Hello</h1>', { headers: { 'Content-Type': 'text/html' } }),
    () => Response.json({ hello: 'world' }),
    () => data(),
    () => data(vector.slice(1)),
    () => data(Array(4).fill(vector).flat()),
    () => data([...vector.slice(1), null]),
    () => data(vector.map(String)),
  ]
  let answer = answers[0]!
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, () => answer())
  Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1`)
  const { currentProvider } = await import('../../functions/_shared/embeddings/current_provider.ts')
  const { embedInTime } = await import('../../functions/_shared/embeddings/provider.ts')
  for (answer of answers) {
    const found = await embedInTime(currentProvider(), ['hiking'], 60_000).then(() => 'a vector', () => 'none')
    equal([`${answer}`, found], [`${answer}`, 'none'])
  }
})
check(
  'without the file of the offline model searches have no vector, and no job is begun; with it they go on',
  {},
  async () => {
    const { readFile } = Deno
    Deno.readFile = () => Promise.reject(new Error('seeded'))
    const { knownWords } = await import('../../functions/_shared/embeddings/query_vector.ts')
    equal([...await knownWords('jazz')], [])
    equal(await searchAndDrain(), { vector: null, made: 0, refused: [], lengths: [400] })
    Deno.readFile = readFile
    equal([...await knownWords('jazz')], ['jazz'])
  },
)

check('only a 400 or 422 to one text alone counts against that text', { OPENAI_API_KEY: 'sk-test' }, async () => {
  let [status, toAll] = [0, false]
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, async (request) => {
    const { input } = await request.json()
    if (input[0] !== harmless || toAll) return Response.json({ error: { message: 'No' } }, { status })
    return Response.json({ data: [{ index: 0, embedding: vector }] })
  })
  Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1`)
  const { drain } = await import('../../functions/_shared/embeddings/drain.ts')
  const answers = [400, 422, 401, 403, 404, 429, 500, 503].flatMap((status) =>
    [[status, false, 1], [status, false, 2], [status, true, 1]] as const
  )
  let texts: number
  for ([status, toAll, texts] of answers) {
    const { refused } = await openQueue(1, texts)
    const isCounted = [400, 422].includes(status) && !toAll && texts === 1
    equal([status, toAll, texts, await drain(), refused], [status, toAll, texts, 0, [isCounted]])
  }
})

check('a run takes jobs until its time is up, half of it after a change', { OPENAI_API_KEY: 'sk-test' }, async () => {
  // Of a clock of its own: a batch takes so many milliseconds.
  let [now, takes] = [0, 625]
  performance.now = () => now
  const inputs: string[][] = []
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, async (request) => {
    const { input } = await request.json()
    now += takes
    inputs.push(input)
    return Response.json({ data: input.map((_: string, index: number) => ({ index, embedding: vector })) })
  })
  Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1`)
  const { drain, drainSoon } = await import('../../functions/_shared/embeddings/drain.ts')
  let background: Promise<unknown> = Promise.resolve()
  Object.assign(globalThis, { EdgeRuntime: { waitUntil: (work: Promise<unknown>) => background = work } })
  const run = async (work: () => unknown) => {
    const queue = await openQueue(Infinity)
    await work()
    await background
    return [queue.claims.length, queue.saved, queue.refused.length, [...new Set(queue.claims)]]
  }
  equal(await run(drain), [8, 8, 0, ['["text-embedding-3-small",16,false]']])
  // Of the newest texts.
  equal(await run(drainSoon), [4, 4, 0, ['["text-embedding-3-small",16,true]']])
  takes = 6000
  equal(await run(drain), [1, 1, 0, ['["text-embedding-3-small",16,false]']])
  // A text and its parts in one request.
  equal(inputs.length, 13)
  equal(inputs[0], ['x', 'y'])
})

const providers = [['', 'offline', 'offline-wordnet-v3'], ['sk-test', 'openai', 'text-embedding-3-small']] as const
for (const [OPENAI_API_KEY, provider, model] of providers) {
  check(`GET /health names ${model}, and does not load it`, { OPENAI_API_KEY }, async () => {
    let loads = 0
    Deno.readFile = () => Promise.reject(loads++)
    const { provideQuery } = await import('../../functions/_shared/rpc.ts')
    provideQuery(() => Promise.resolve([{ body: '{"waiting": 3}' }]))
    const { default: health } = await import('../../functions/health/index.ts')
    const answer = await health.fetch(new Request('http://x/health'))
    equal([(await answer.json()).embeddings, loads], [{ provider, model, pending: 3 }, 0])
  })
}

check('OpenAI is told to stop, and is asked once', { OPENAI_API_KEY: 'sk-test' }, async () => {
  let asked = 0
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, () => {
    asked++
    return Response.json({ error: { message: 'No' } }, { status: 503, headers: { 'Retry-After': '0' } })
  })
  Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1/`)
  const { currentProvider } = await import('../../functions/_shared/embeddings/current_provider.ts')
  const { embed } = currentProvider()
  const failed = (signal: AbortSignal) => embed(['hello'], signal).then(() => null, ({ status }) => status ?? 'stopped')
  equal(await failed(AbortSignal.abort()), 'stopped')
  equal(asked, 0)
  equal(await failed(AbortSignal.timeout(60_000)), 503)
  equal(asked, 1)
})

check('a query is embedded once, and a failure is forgotten with the next one', {
  OPENAI_API_KEY: 'sk-test',
}, async () => {
  let status = 200
  const asked: unknown[] = []
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, async (request) => {
    const { input, model, dimensions } = await request.json()
    asked.push([new URL(request.url).pathname, request.headers.get('Authorization'), input, model, dimensions])
    return Response.json({ data: [{ index: 0, embedding: vector }] }, { status })
  })
  Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1`)
  const { queryVector } = await import('../../functions/_shared/embeddings/query_vector.ts')
  /** Searches so often, each time for something else: how often the provider was asked, and how many had a vector. */
  const search = async (times: number) => {
    const before = asked.length
    let found = 0
    for (; times > 0; times--) if (await queryVector(`hiking ${crypto.randomUUID()}`)) found++
    return [asked.length - before, found]
  }
  for (const _ of [1, 2]) equal(await queryVector('trekking'), `[${vector}]`)
  equal(asked, [['/v1/embeddings', 'Bearer sk-test', ['trekking'], 'text-embedding-3-small', 384]])
  status = 500
  equal(await search(6), [6, 0])
  // What is known needs no provider.
  equal(await queryVector('trekking'), `[${vector}]`)
  status = 200
  equal(await search(3), [3, 3])
})
