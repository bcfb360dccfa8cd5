import type { Provider } from './provider.ts'

interface Session {
  run: (text: string, options: { mean_pool: boolean; normalize: boolean }) => Promise<ArrayLike<number>>
}

interface EdgeRuntime {
  Supabase?: { ai?: { Session: new (model: string) => Session } }
}

const options = { mean_pool: true, normalize: true }

/** gte-small, an English model that is built into Supabase's Edge Runtime; null elsewhere. */
export const gteSmall = (): Provider | null => {
  const Session = (globalThis as EdgeRuntime).Supabase?.ai?.Session
  if (!Session) return null
  let session: Session | undefined
  // A new session starts to load the model. A failed load is not repeated by the session.
  const run = async (text: string) => {
    const loaded = session ??= new Session('gte-small')
    try {
      return Array.from(await loaded.run(text, options))
    } catch (error) {
      if (session === loaded) session = undefined
      throw error
    }
  }
  return {
    name: 'gte-small',
    model: 'gte-small',
    // Each vector is saved before the next is made, because the isolate may be killed between them.
    batchSize: 1,
    // The time of embedding is the isolate's processor time. Supabase retires an isolate at 1 s and kills it at 2 s, so
    // a request starts with at least 1 s (docs/scale.md).
    runMilliseconds: 800,
    load: () => run('a'),
    embed: async (texts, signal) => {
      const vectors: number[][] = []
      for (const text of texts) {
        signal.throwIfAborted()
        vectors.push(await run(text))
      }
      return vectors
    },
  }
}
