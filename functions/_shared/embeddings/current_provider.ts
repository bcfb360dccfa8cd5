import OpenAI from 'openai'
import { settings } from '../settings.ts'
import { offline } from './offline.ts'
import { dimensions, type Provider } from './provider.ts'

const openai = (apiKey: string): Provider => {
  const model = settings.EMBEDDING_MODEL
  // The queue retries; a search has no time for retries.
  const client = new OpenAI({ apiKey, baseURL: settings.OPENAI_BASE_URL, maxRetries: 0, logLevel: 'off' })
  return {
    name: 'openai',
    model,
    // Mostly waiting, which is no processor time; the JSON of a batch takes some 10 ms. If the last call takes 20 s,
    // the schedule's request is still answered before it gives up, after 30 s.
    runMilliseconds: 5000,
    embed: async (texts, signal) => {
      const request = { model, input: texts, dimensions, encoding_format: 'float' as const }
      const { data } = await client.embeddings.create(request, { signal })
      return data.toSorted((one, other) => one.index - other.index).map(({ embedding }) => embedding)
    },
  }
}

let current: Provider | undefined

/** OpenAI if there is a key, else the offline model, which this does not load: `GET /health` only names it. */
export const currentProvider = (): Provider =>
  current ??= settings.OPENAI_API_KEY ? openai(settings.OPENAI_API_KEY) : offline()
