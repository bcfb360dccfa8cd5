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
  const maker = provider()
  const { name, model } = maker
  if (adopted !== model) {
    await asService`adopt_model(${model})`
    adopted = model
  }
  let made = 0
  while (true) {
    const jobs: Job[] = JSON.parse(
      await asService`claim_embeddings(${model}, ${batchSize})`,
    )
    if (jobs.length === 0) return made
    try {
      const texts = jobs.map(({ text }) => text)
      const vectors = await embedInTime(maker, texts, timeoutMilliseconds)
      // A text without a word that the model knows has no direction to compare: it is done with, and found by words alone.
      const directed = vectors.map((vector) => vector.some((value) => value !== 0) ? vector : null)
      const saved = jobs.map(({ kind, id, content_hash }, at) => ({ kind, id, content_hash, embedding: directed[at] }))
      await asService`save_embeddings(${model}, ${saved})`
      made += jobs.length
    } catch (error) {
      // The provider's words may quote what it was sent, so only the kind of error is kept.
      const { name: kind, status } = error as Error & { status?: number }
      const reason = [name, kind, status].filter(Boolean).join(' ')
      log('warn', 'Vectors could not be made', { jobs: jobs.length, reason })
      await asService`fail_embeddings(${jobs.map(({ kind, id }) => ({ kind, id }))}, ${reason})`
      return made
    }
  }
}

/** Makes the vectors that are due; answers with how many. Called while it runs, it runs once more. */
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

/** Drains once the answer is out, so that a change is found by meaning within seconds; what fails is made later. */
export const drainSoon = (): void => {
  waitUntil(drain().catch(({ name }) => log('warn', 'The queue was not drained', { name })))
}
