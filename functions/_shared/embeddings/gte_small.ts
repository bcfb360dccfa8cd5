import type { Provider } from './provider.ts'

interface Session {
  run: (text: string, options: { mean_pool: boolean; normalize: boolean }) => Promise<number[]>
}

interface EdgeRuntime {
  Supabase?: { ai?: { Session: new (model: string) => Session } }
}

/** gte-small, an English model that is built into Supabase's Edge Runtime; null elsewhere. */
export const gteSmall = (): Provider | null => {
  const Session = (globalThis as EdgeRuntime).Supabase?.ai?.Session
  if (!Session) return null
  const session = new Session('gte-small')
  return {
    name: 'gte-small',
    model: 'gte-small',
    embed: async (texts, signal) => {
      const vectors: number[][] = []
      for (const text of texts) {
        signal.throwIfAborted()
        vectors.push(Array.from(await session.run(text, { mean_pool: true, normalize: true })))
      }
      return vectors
    },
  }
}
