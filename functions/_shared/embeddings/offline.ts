import type { Provider } from './provider.ts'
import { loadEmbedder, model } from './wordnet/embedder.ts'

/** An embedder without a key, a network or a download. English only; see wordnet/README.md. */
export const offline = (): Provider => {
  let embed: ReturnType<typeof loadEmbedder> | undefined
  return {
    name: 'offline',
    model,
    batchSize: 64,
    // Only on one machine, where nobody counts its processor time.
    runMilliseconds: Infinity,
    embed: (texts) => {
      const loaded = embed ??= loadEmbedder(Deno.readFileSync(new URL('wordnet/wordnet.bin', import.meta.url)))
      return Promise.resolve(texts.map((text) => Array.from(loaded(text))))
    },
  }
}
