import { waitUntil } from '../wait_until.ts'
import { asService } from '../rpc.ts'
import { provider } from './chosen.ts'
import { embedInTime } from './provider.ts'
import { log } from '../log.ts'

interface Job {
  kind: 'profile' | 'context'
  id: number
  text: string
  content_hash: string
}

const batchSize = 64
const timeoutMilliseconds = 20_000

let adopted: string | undefined
let draining: Promise<number> | undefined
let again = false

const drainOnce = async (): Promise<number> => {
  const current = provider()
  const { name, model } = current
  if (adopted !== model) {
    await asService`adopt_model(${model})`
    adopted = model
  }
  let made = 0
  while (true) {
    const jobs: Job[] = JSON.parse(await asService`claim_embeddings(${model}, ${batchSize})`)
    if (jobs.length === 0) return made
    try {
      const texts = jobs.map(({ text }) => text)
      const vectors = await embedInTime(current, texts, timeoutMilliseconds)
      // A text without any word that the model knows gets a zero vector, which has no cosine. It is stored as null, and
      // the profile is found by words alone.
      const saved = jobs.map(({ kind, id, content_hash }, index) => {
        const vector = vectors[index]!
        return { kind, id, content_hash, embedding: vector.some((value) => value !== 0) ? vector : null }
      })
      await asService`save_embeddings(${model}, ${saved})`
      made += jobs.length
    } catch (error) {
      // The provider's message may quote the text, so only the kind of error is kept.
      const { name: kind, status } = error as Error & { status?: number }
      const reason = [name, kind, status].filter(Boolean).join(' ')
      log('warn', 'Embedding failed', { jobs: jobs.length, reason })
      await asService`fail_embeddings(${jobs.map(({ kind, id }) => ({ kind, id }))}, ${reason})`
      return made
    }
  }
}

/** Makes the embeddings that are due, and returns how many. If it is called while it runs, it runs once more. */
export const drain = (): Promise<number> => {
  again = true
  draining ??= (async () => {
    let made = 0
    try {
      while (again) {
        again = false
        made += await drainOnce()
      }
      return made
    } finally {
      draining = undefined
    }
  })()
  return draining
}

/**
 * Drains the queue after the response, so that a change is found by meaning within seconds. Failed jobs are retried
 * later.
 */
export const drainSoon = (): void => {
  waitUntil(drain().catch(({ name }) => log('warn', 'Draining the embedding queue failed', { name })))
}
