import { asText, isZero } from './provider.ts'

/** What claim_embeddings gives a worker. */
export interface Job {
  kind: 'profile' | 'context'
  id: number
  text: string
  /** The interests and sentences of a profile, 32 at most, which get vectors of their own. */
  parts: string[]
  content_hash: string
}

/** What save_embeddings takes. */
export interface Made {
  kind: Job['kind']
  id: number
  content_hash: string
  /** Null for a text without any word that the model knows: it is found by words alone. */
  embedding: string | null
  parts: (string | null)[]
}

/** Embeds the texts of the jobs and their parts in one call. */
export const embedJobs = async (jobs: Job[], embed: (texts: string[]) => Promise<number[][]>): Promise<Made[]> => {
  const vectors = await embed(jobs.flatMap(({ text, parts }) => [text, ...parts]))
  const written = vectors.map((vector) => isZero(vector) ? null : asText(vector))
  return jobs.map(({ kind, id, content_hash, parts }) => {
    const [embedding = null, ...others] = written.splice(0, 1 + parts.length)
    return { kind, id, content_hash, embedding, parts: others }
  })
}
