import OpenAI from 'openai'
import { settings } from '../settings.ts'
import { dimensions, type Provider } from './provider.ts'

/** OpenAI, or anything that speaks its API (OPENAI_BASE_URL). */
export const openai = (apiKey: string): Provider => {
  const model = settings.embeddingModel ?? 'text-embedding-3-small'
  // Retries are the queue's business; a search has no time for any.
  const client = new OpenAI({
    apiKey,
    baseURL: settings.openaiBaseUrl,
    maxRetries: 0,
  })
  return {
    name: 'openai',
    model,
    embed: async (texts, signal) => {
      const { data } = await client.embeddings.create(
        { model, input: texts, dimensions, encoding_format: 'float' },
        { signal },
      )
      return data.toSorted((one, other) => one.index - other.index).map((
        { embedding },
      ) => embedding)
    },
  }
}
