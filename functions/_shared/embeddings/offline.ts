import type { Provider } from './provider.ts'
import { type Embedder, loadEmbedder, model } from './wordnet/embedder.ts'

let embedder: Embedder | undefined

const load = (): Embedder =>
  embedder ??= loadEmbedder(Deno.readFileSync(new URL('wordnet/wordnet.bin', import.meta.url)))

/** Whether the offline model knows the word, in English or in one of the languages of its glossary. */
export const isDictionaryWord = (word: string): boolean => load().knows(word)

/** An embedder without a key, a network or a download; see wordnet/README.md. */
export const offline = (): Provider => ({
  name: 'offline',
  model,
  batchSize: 64,
  // Only on one machine, where nobody counts its processor time.
  runMilliseconds: Infinity,
  embed: (texts) => Promise.resolve(texts.map((text) => Array.from(load().embed(text)))),
})
