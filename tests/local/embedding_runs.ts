// Run by embedding_runs.test.ts with a case. Prints what the queue was asked for.
import { provideQuery } from '../../functions/_shared/rpc.ts'
import { drain, drainSoon } from '../../functions/_shared/embeddings/drain.ts'

const [which] = Deno.args
let sessions = 0
const burn = (milliseconds: number) => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}
const Session = class {
  constructor() {
    sessions++
  }
  run = async (text: string) => {
    if (which === 'the model does not load') throw new Error('seeded')
    // Waiting for the model takes no processor time.
    if (text === 'a') await new Promise((resolve) => setTimeout(resolve, 1200))
    else burn(which === 'a text takes longer than a run' ? 1000 : 100)
    return Array.from({ length: 384 }, () => 0.05)
  }
}
Object.assign(globalThis, { Supabase: { ai: { Session } } })
console.warn = () => {}

const claims: unknown[][] = []
let [failed, saved] = [0, 0]
provideQuery((text, values) => {
  if (text.includes('fail_embeddings')) failed++
  if (text.includes('save_embeddings')) saved += (values[1] as unknown[]).length
  if (!text.includes('claim_embeddings')) return Promise.resolve([{ body: '[]' }])
  claims.push(values)
  return Promise.resolve([{ body: JSON.stringify([{ kind: 'profile', id: 1, text: 'x', content_hash: 'x' }]) }])
})

if (which === 'after a change') {
  drainSoon()
  await new Promise((resolve) => setTimeout(resolve, 3000))
} else {
  await drain()
}
const claimed = [...new Set(claims.map((values) => JSON.stringify(values)))]
console.log(JSON.stringify({ claims: claims.length, claimed, saved, failed, sessions }))
Deno.exit(0)
