import OpenAI from 'openai'
import { settings } from '../settings.ts'
import { dimensions, type Provider } from './provider.ts'

/** OpenAI, or a service with the same API (OPENAI_BASE_URL). */
export const openai = (apiKey: string): Provider => {
  const model = settings.embeddingModel ?? 'text-embedding-3-small'
  // The queue retries; a search has no time for retries.
  const client = new OpenAI({ apiKey, baseURL: settings.openaiBaseUrl, maxRetries: 0 })
  return {
    name: 'openai',
    model,
    embed: async (texts, signal) => {
      const { data } = await client.embeddings.create(
        { model, input: texts, dimensions, encoding_format: 'float' },
        { signal },
      )
      return data.toSorted((one, other) => one.index - other.index).map(({ embedding }) => embedding)
    },
  }
}
