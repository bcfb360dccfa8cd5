import { settings } from '../settings.ts'
import { dimensions, type Provider } from './provider.ts'

/** As far as a batch has one; of the whole answer only this is read. */
interface Answer {
  data: { index: number; embedding: number[] }[]
}

/** A refusal. Its body, which may quote the text, is not kept. */
class EmbeddingsRefused extends Error {
  override name = 'EmbeddingsRefused'
  constructor(readonly status: number) {
    super(`The embeddings API answered ${status}`)
  }
}

/**
 * OpenAI, or a service with the same API (OPENAI_BASE_URL). One request, without the package openai, which was 395 kB
 * of 966 in a bundle. The queue retries; a search has no time for retries.
 */
export const openai = (apiKey: string): Provider => {
  const model = settings.embeddingModel ?? 'text-embedding-3-small'
  const url = `${(settings.openaiBaseUrl ?? 'https://api.openai.com/v1').replace(/\/+$/, '')}/embeddings`
  return {
    name: 'openai',
    model,
    batchSize: 64,
    // Mostly waiting, which is no processor time; the JSON of a batch takes some 10 ms. If the last call takes 20 s,
    // the schedule's request is still answered before it gives up, after 30 s.
    runMilliseconds: 5000,
    embed: async (texts, signal) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ model, input: texts, dimensions, encoding_format: 'float' }),
        signal,
      })
      if (!response.ok) {
        await response.body?.cancel()
        throw new EmbeddingsRefused(response.status)
      }
      const { data }: Answer = await response.json()
      return data.toSorted((one, other) => one.index - other.index).map(({ embedding }) => embedding)
    },
  }
}
