import { waitUntil } from '../platform.ts'
import { asService } from '../rpc.ts'
import { currentProvider } from './current_provider.ts'
import { asText, embedInTime, isZero, type Provider } from './provider.ts'
import { log } from '../log.ts'

/** What claim_embeddings gives a worker. */
export interface Job {
  kind: 'profile' | 'context'
  id: number
  text: string
  /** The interests and sentences of a profile, 32 at most, which get vectors of their own. */
  parts: string[]
  content_hash: string
}

/** Returns what save_embeddings takes. */
export const embedJobs = async (jobs: Job[], embed: (texts: string[]) => Promise<number[][]>) => {
  const vectors = await embed(jobs.flatMap(({ text, parts }) => [text, ...parts]))
  // Null for a text without any word that the model knows: it is found by words alone.
  const written = vectors.map((vector) => isZero(vector) ? null : asText(vector))
  return jobs.map(({ kind, id, content_hash, parts }) => {
    const [embedding = null, ...others] = written.splice(0, 1 + parts.length)
    return { kind, id, content_hash, embedding, parts: others }
  })
}

// With their parts 528 texts at most, of 160,000 characters; OpenAI takes 2,048 of 300,000 tokens together.
const batchSize = 16

/** Less than the 30 s after which claim_embeddings gives the first attempt of a job to another worker. */
const timeoutMilliseconds = 20_000

/** The provider's message may quote the text, so only the kind of error is kept. */
const describe = ({ name }: Provider, error: unknown): string => {
  const { name: kind, status } = error as Error & { status?: number }
  return [name, kind, status].filter(Boolean).join(' ')
}

let adopted: string | undefined

/**
 * Whether the provider refuses this text by itself. Everything else (limits, keys, its own errors, the network, a
 * refused batch) says nothing against a text. Some providers answer 400 or 422 to every request while they are set up
 * wrongly, so they are asked for a harmless text as well.
 */
const refusesText = async (provider: Provider, jobs: Job[], error: unknown): Promise<boolean> => {
  const { status } = error as { status?: number }
  if (jobs.length > 1 || status !== 400 && status !== 422) return false
  return await embedInTime(provider, ['a'], timeoutMilliseconds).then(() => true, () => false)
}

/** Embeds and saves the texts of the jobs; on failure records why and returns false. */
const embed = async (provider: Provider, jobs: Job[]): Promise<boolean> => {
  const made = await embedJobs(jobs, (texts) => embedInTime(provider, texts, timeoutMilliseconds)).catch(
    async (error) => {
      const reason = describe(provider, error)
      const refused = await refusesText(provider, jobs, error)
      log('warn', 'Embedding failed', { jobs: jobs.length, reason, refused })
      const failed = jobs.map(({ kind, id }) => ({ kind, id }))
      await asService`fail_embeddings(jobs => ${failed}, reason => ${reason}, refused => ${refused})`
    },
  )
  if (made) await asService`save_embeddings(${provider.model}, ${made})`
  return Boolean(made)
}

// Runs until the queue is empty, a call fails or the time is up, and returns how many embeddings it made. A kill loses
// one call. If it is called while it runs, it looks at the queue once more.
const createDrain = (newest: boolean, share: number): () => Promise<number> => {
  let running: Promise<number> | undefined
  let again = false

  const run = async (): Promise<number> => {
    const provider = currentProvider()
    const { model, runMilliseconds } = provider
    if (adopted !== model) await asService`adopt_model(${model})`
    adopted = model
    try {
      // Before a job is claimed, so that no text is blamed, and outside the limit: waiting takes no processor time.
      await provider.load?.()
    } catch (error) {
      log('warn', 'The embedding model was not loaded', { reason: describe(provider, error) })
      return 0
    }
    let [made, spent, longest] = [0, 0, 0]
    // The next call is expected to take as long as the longest so far. The first is always made.
    while (spent + longest <= runMilliseconds * share) {
      again = false
      const jobs: Job[] = JSON.parse(
        await asService`claim_embeddings(wanted => ${model}, max_jobs => ${batchSize}, newest => ${newest})`,
      )
      if (jobs.length === 0) {
        await asService`calibrate_model(${model})`
        if (again) continue
        return made
      }
      const start = performance.now()
      if (!await embed(provider, jobs)) return made
      made += jobs.length
      const took = performance.now() - start
      spent += took
      longest = Math.max(longest, took)
    }
    return made
  }

  return () => {
    again = true
    return running ??= run().finally(() => running = undefined)
  }
}

/** Makes embeddings that are due, those that have been due longest first. */
export const drain = createDrain(false, 1)

// Half of the time: this isolate also answers requests. Texts tried before, which may kill it, are left to `drain`.
const drainNewest = createDrain(true, 0.5)

const inBackground = (work: () => Promise<unknown>): void =>
  waitUntil(work().catch(({ name }) => log('warn', 'Draining the embedding queue failed', { name })))

/** Makes all that are due, on one machine, where nobody limits processor time. On Supabase a schedule calls `embed`. */
export const drainInBackground = (): void =>
  inBackground(async () => {
    while (await drain() > 0);
  })

/** Makes the newest embeddings after the response, so that a change is found by meaning within seconds. */
export const drainSoon = (): void => inBackground(drainNewest)
