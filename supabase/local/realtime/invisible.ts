import { commitInvisible } from './server_facts.ts'

/** Keeps messages from readers for a moment after their event, which may overtake its commit on Supabase's server. */
export interface Invisible {
  /** Takes the payload of an event that is about to be sent. */
  add: (payload: string) => void
  /** The answer without what is not visible yet, if it is a page of messages. */
  leaveOut: (request: Request, answer: Response) => Promise<Response>
}

export const openInvisible = (): Invisible => {
  const byConversation = new Map<number, { message: number; until: number }>()
  return {
    add: (payload) => {
      const { conversation_id, id } = JSON.parse(payload) as { conversation_id: number; id: number }
      const { message, until } = byConversation.get(conversation_id) ?? { message: id, until: 0 }
      // Whoever sees a message sees those before it.
      const first = Date.now() < until ? Math.min(message, id) : id
      byConversation.set(conversation_id, { message: first, until: Date.now() + commitInvisible })
    },
    leaveOut: async ({ method, url }, answer) => {
      const [, conversation] = /\/conversations\/(\d+)\/messages$/.exec(new URL(url).pathname) ?? []
      const { message, until } = byConversation.get(Number(conversation)) ?? { message: 0, until: 0 }
      if (method !== 'GET' || answer.status !== 200 || Date.now() >= until) return answer
      const headers = new Headers(answer.headers)
      for (const name of ['Content-Length', 'ETag']) headers.delete(name)
      const page = await answer.json() as { id: number }[]
      return Response.json(page.filter(({ id }) => id < message), { headers })
    },
  }
}
