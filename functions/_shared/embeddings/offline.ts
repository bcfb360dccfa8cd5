import type { Provider } from './provider.ts'
import { type Embedder, loadEmbedder, model } from './wordnet/embedder.ts'

let embedder: Promise<Embedder> | undefined

// Not at once: the Edge Runtime denies calls that block once a function has started.
const load = (): Promise<Embedder> =>
  embedder ??= Deno.readFile(new URL('wordnet/wordnet.bin', import.meta.url)).then(loadEmbedder)

/** Tells whether the offline model knows a word, in English or in one of the languages of its glossary. */
export const offlineDictionary = async (): Promise<(word: string) => boolean> => (await load()).knows

/** An embedder without a key, a network or a download; see wordnet/README.md. */
export const offline = (): Provider => ({
  name: 'offline',
  model,
  batchSize: 64,
  // Only on one machine, where nobody counts its processor time.
  runMilliseconds: Infinity,
  embed: async (texts) => {
    const { embed } = await load()
    return texts.map((text) => Array.from(embed(text)))
  },
})
