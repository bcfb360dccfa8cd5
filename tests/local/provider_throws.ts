// Run by provider_throws.test.ts: a provider that fails as its argument says. Prints what a search and a drain make of it, a second later.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import { queryVector } from '../../functions/_shared/embeddings/query_vector.ts'
import { drain } from '../../functions/_shared/embeddings/drain.ts'

const [how] = Deno.args
if (how === 'throws at once') {
  Deno.readFileSync = () => {
    throw new Error('planted')
  }
}
if (how === 'never answers') {
  Object.assign(globalThis, {
    Supabase: {
      ai: {
        Session: class {
          run = () => new Promise(() => {})
        },
      },
    },
  })
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
