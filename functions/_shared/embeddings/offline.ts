import type { Provider } from './provider.ts'
import { loadEmbedder, model } from './wordnet/embedder.ts'

/** The embedder that needs no key, no network and no download: English only, see wordnet/README.md. */
export const offline = (): Provider => {
  let embed: ReturnType<typeof loadEmbedder> | undefined
  return {
    name: 'offline',
    model,
    embed: (texts) => {
      embed ??= loadEmbedder(
        Deno.readFileSync(new URL('wordnet/wordnet.bin', import.meta.url)),
      )
      const ready = embed
      return Promise.resolve(texts.map((text) => Array.from(ready(text))))
    },
  }
}
