// Run by embedding_failures.test.ts with a kind of failure of the embedding provider. Prints the results of a search
// and of a drain, a second later.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import { queryVector } from '../../functions/_shared/embeddings/query_vector.ts'
import { drain } from '../../functions/_shared/embeddings/drain.ts'

const [failure] = Deno.args
if (failure === 'throws at once') {
  Deno.readFileSync = () => {
    throw new Error('seeded')
  }
}
if (failure === 'never answers') {
  const Session = class {
    // `a` is what drain sends to wait for the model.
    run = (text: string) => text === 'a' ? Promise.resolve([1]) : new Promise(() => {})
  }
  Object.assign(globalThis, { Supabase: { ai: { Session } } })
}
console.warn = () => {}
// An OpenAI that answers so to texts. What it is asked to compare with is `a`.
const [, status, others] = /^answers (\d+)( to every text)?$/.exec(failure ?? '') ?? []
if (status) {
  const server = Deno.serve({ hostname: '127.0.0.1', port: 0, onListen: () => {} }, async (request) => {
    const { input } = await request.json()
    if (input[0] !== 'a' || others) return Response.json({ error: { message: 'No' } }, { status: Number(status) })
    return Response.json({ data: [{ index: 0, embedding: Array.from({ length: 384 }, () => 0.1) }] })
  })
  Deno.env.set('OPENAI_API_KEY', 'sk-test')
  Deno.env.set('OPENAI_BASE_URL', `http://127.0.0.1:${server.addr.port}/v1`)
}
/** For each failure whether the provider refused the text by itself. */
const failed: unknown[] = []
let claims = 0
provideQuery((text, values) => {
  if (text.includes('fail_embeddings')) failed.push(values.at(-1))
  const jobs = text.includes('claim_embeddings') && claims++ === 0
    ? [{ kind: 'profile', id: 1, text: 'x', content_hash: 'x' }]
    : []
  return Promise.resolve([{ body: JSON.stringify(jobs) }])
})

const vector = await queryVector('hiking')
const made = await drain()
await new Promise((resolve) => setTimeout(resolve, 1000))
console.log(JSON.stringify({ vector, made, failed }))
Deno.exit(0)
