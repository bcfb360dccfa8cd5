import type { Provider } from './provider.ts'
import { loadEmbedder, model } from './wordnet/embedder.ts'

let embedder: Promise<ReturnType<typeof loadEmbedder>> | undefined

// The file is beside the sources or the bundle. On the platform Deno.readFile alone can read it, and asynchronously
// once a function has started. A failed load is forgotten, so that the next call tries again.
const load = () =>
  embedder ??= Deno.readFile(new URL('wordnet/wordnet.bin', import.meta.url)).then(loadEmbedder).catch((error) => {
    embedder = undefined
    throw error
  })

/** Tells whether the offline model knows a word, in English or in one of the languages of its glossary. */
export const offlineDictionary = async (): Promise<(word: string) => boolean> => (await load()).knows

/** An embedder without a key, a network or a download; see wordnet/README.md. */
export const offline = (): Provider => ({
  name: 'offline',
  model,
  // At most four fifths of it is the isolate's processor time. Supabase retires an isolate at 1 s and kills it at 2 s,
  // so a request starts with at least 1 s (docs/scale.md).
  runMilliseconds: 1000,
  load,
  embed: async (texts) => {
    const { embed } = await load()
    return texts.map((text) => Array.from(embed(text)))
  },
})
