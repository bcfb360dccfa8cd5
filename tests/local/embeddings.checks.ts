// How the functions use a provider of embeddings: Supabase's built-in model gte-small, of which this has a stand-in, or
// an API as OpenAI's. The quality of the vectors is not looked at.
import { check, equal, until } from './check.ts'

check('the offline model needs no call that the Edge Runtime denies after the start', {}, async () => {
  const { offline } = await import('../../functions/_shared/embeddings/offline.ts')
  const { dictionary } = await import('../../functions/_shared/embeddings/vocabulary.ts')
  for (const name of Object.keys(Deno).filter((name) => name.endsWith('Sync'))) {
    Object.defineProperty(Deno, name, { value: () => Promise.reject(new Error(`${name} was called`)) })
  }
  equal((await offline().embed(['jazz'], AbortSignal.timeout(60_000)))[0]!.some((value) => value !== 0), true)
  equal((await dictionary())('jazz'), true)
})

/** A queue that gives one text `times` times, and what the functions have told the database. */
const openQueue = async (times: number) => {
  const { provideQuery } = await import('../../functions/_shared/rpc.ts')
  const queue = { left: times, claims: [] as string[], saved: 0, refused: [] as unknown[] }
  provideQuery((text, values) => {
    if (text.includes('fail_embeddings')) queue.refused.push(values.at(-1))
    if (text.includes('save_embeddings')) queue.saved += (values[1] as unknown[]).length
    const isClaim = text.includes('claim_embeddings') && queue.left-- > 0
    if (isClaim) queue.claims.push(JSON.stringify(values))
    return Promise.resolve([{
      body: isClaim ? '[{"kind":"profile","id":1,"text":"x","content_hash":"x"}]' : '[]',
    }])
  })
  return queue
}

/** What Supabase's runtime has built in. */
const provideModel = (run: (text: string, options: { mean_pool: boolean; normalize: boolean }) => Promise<unknown>) =>
  Object.assign(globalThis, {
    Supabase: {
      ai: {
        Session: class {
          run = run
        },
      },
    },
  })

const vector = Array.from({ length: 384 }, () => 0.05)
/** What the worker sends to a model to load it, and to an API to learn whether it works at all. */
const harmless = 'a'

/** A search and a run of the queue, after which all their time limits pass, of a hundredth of their length. */
const searchAndDrain = async () => {
  const limits: AbortSignal[] = []
  const { timeout } = AbortSignal
  AbortSignal.timeout = (ms) => limits[limits.push(timeout.call(AbortSignal, ms / 100)) - 1]!
  const queue = await openQueue(1)
  const { queryVector } = await import('../../functions/_shared/embeddings/query_vector.ts')
  const { drain } = await import('../../functions/_shared/embeddings/drain.ts')
  const found = { vector: await queryVector('hiking'), made: await drain(), refused: queue.refused }
  await until(() => limits.every(({ aborted }) => aborted))
  // A rejection that nothing has handled would end the worker now.
  await new Promise((resolve) => setTimeout(resolve))
  return found
}
for (const failure of ['throws at once', 'never answers']) {
  check(
    `if the provider ${failure}, searches have no vector, the job has failed, the process goes on`,
    {},
    async () => {
      if (failure === 'never answers') {
        provideModel((text) => text === harmless ? Promise.resolve([1]) : new Promise(() => {}))
      } else {
        // The offline model reads its words from a file.
        Deno.readFile = () => Promise.reject(new Error('seeded'))
      }
      equal(await searchAndDrain(), { vector: null, made: 0, refused: [false] })
    },
  )
}

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
    [[status, false], [status, true]] as const
  )
  for ([status, toAll] of answers) {
    const { refused } = await openQueue(1)
    const isCounted = [400, 422].includes(status) && !toAll
    equal([status, toAll, await drain(), refused], [status, toAll, 0, [isCounted]])
  }
})

check(
  'a run of gte-small takes texts until its time is up, half of it after a change',
  {},
  async () => {
    // Of a clock of its own: a text takes so many milliseconds, and loading the model 1,200 that do not count.
    let [now, takes, loads] = [0, 100, true]
    performance.now = () => now
    provideModel((text) => {
      if (!loads) return Promise.reject(new Error('seeded'))
      now += text === harmless ? 1200 : takes
      return Promise.resolve(vector)
    })
    const { drain, drainSoon } = await import('../../functions/_shared/embeddings/drain.ts')
    let background: Promise<unknown> = Promise.resolve()
    Object.assign(globalThis, { EdgeRuntime: { waitUntil: (work: Promise<unknown>) => background = work } })
    const run = async (work: () => unknown) => {
      const queue = await openQueue(Infinity)
      await work()
      await background
      return [queue.claims.length, queue.saved, queue.refused.length, [...new Set(queue.claims)]]
    }
    equal(await run(drain), [8, 8, 0, ['["gte-small",1,false]']])
    // Of the newest texts.
    equal(await run(drainSoon), [4, 4, 0, ['["gte-small",1,true]']])
    takes = 1000
    equal(await run(drain), [1, 1, 0, ['["gte-small",1,false]']])
    loads = false
    equal(await run(drain), [0, 0, 0, []])
  },
)

for (const [key, which] of [['', 'gte-small'], ['sk-test', 'openai']] as const) {
  const what = key
    ? 'with an OpenAI key OpenAI is used'
    : 'without an OpenAI key gte-small is used, if the runtime has it'
  check(`${what}, and stops when it is told to`, { OPENAI_API_KEY: key }, async () => {
    provideModel((text, { mean_pool, normalize }) =>
      Promise.resolve(new Float32Array([text.length, mean_pool && normalize ? 1 : 0]))
    )
    const { currentProvider } = await import('../../functions/_shared/embeddings/current_provider.ts')
    const { name, embed } = currentProvider()
    const late = await embed(['hello'], AbortSignal.abort()).catch(({ name }) => name)
    equal([name, late], [which, 'AbortError'])
    if (!key) equal(await embed(['hello', 'you'], AbortSignal.timeout(60_000)), [[5, 1], [3, 1]])
  })
}
