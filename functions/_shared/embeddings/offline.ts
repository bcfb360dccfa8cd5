import type { Provider } from './provider.ts'
import { type Embedder, loadEmbedder, model } from './wordnet/embedder.ts'

let loaded: Embedder | undefined

/** The offline embedder, loaded at its first use; it also tells which words it knows. */
export const offlineEmbedder = (): Embedder =>
  loaded ??= loadEmbedder(Deno.readFileSync(new URL('wordnet/wordnet.bin', import.meta.url)))

/** An embedder without a key, a network or a download; see wordnet/README.md for the languages it knows. */
export const offline = (): Provider => ({
  name: 'offline',
  model,
  embed: (texts) => {
    const { embed } = offlineEmbedder()
    return Promise.resolve(texts.map((text) => Array.from(embed(text))))
  },
})
