import { settings } from '../settings.ts'
import { gteSmall } from './gte_small.ts'
import { offline } from './offline.ts'
import { openai } from './openai.ts'
import type { Provider } from './provider.ts'

let current: Provider | undefined

/**
 * The provider of this process: OpenAI if there is a key, else the platform's built-in model, else the offline one.
 * Loads no model: `GET /health` only names it.
 */
export const currentProvider = (): Provider =>
  current ??= settings.openaiKey ? openai(settings.openaiKey) : gteSmall() ?? offline()
