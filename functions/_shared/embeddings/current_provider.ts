import { settings } from '../settings.ts'
import { offline } from './offline.ts'
import { openai } from './openai.ts'
import type { Provider } from './provider.ts'

let current: Provider | undefined

/**
 * The provider of this process: OpenAI if there is a key, else the offline model. Loads no model: `GET /health` only
 * names it.
 */
export const currentProvider = (): Provider =>
  current ??= settings.OPENAI_API_KEY ? openai(settings.OPENAI_API_KEY) : offline()
