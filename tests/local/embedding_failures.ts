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
const failed: unknown[] = []
let claims = 0
provideQuery((text, values) => {
  if (text.includes('fail_embeddings')) failed.push(values)
  const jobs = text.includes('claim_embeddings') && claims++ === 0
    ? [{ kind: 'profile', id: 1, text: 'x', content_hash: 'x' }]
    : []
  return Promise.resolve([{ body: JSON.stringify(jobs) }])
})

const vector = await queryVector('hiking')
const made = await drain()
await new Promise((resolve) => setTimeout(resolve, 1000))
console.log(JSON.stringify({ vector, made, failed: failed.length }))
Deno.exit(0)
