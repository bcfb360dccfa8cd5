// Compiled with --strict against the packed declarations.
import { createClient } from '@supabase/supabase-js'
import { type components, createApiClient, type Database, type Message, openInbox } from 'voyagers-and-locals-client'
import { useConversation, useInbox } from 'voyagers-and-locals-client/react'

const supabase = createClient<Database>('http://localhost', 'key')
const api = createApiClient(supabase)

export const search = async (): Promise<string[]> => {
  const { data, error } = await api.GET('/users/search', { params: { query: { q: 'jazz', limit: 5 } } })
  if (error) throw new Error(error.error)
  return data.hits.map(({ name }) => name)
}

export const send = async (id: number): Promise<Message | undefined> => {
  const params = { path: { id } }
  const { data } = await api.POST('/conversations/{id}/messages', { params, body: { content: 'Hello' } })
  return data
}

export const archived = () => api.GET('/conversations', { params: { query: { archived: true } } })

export const names = async (): Promise<(string | null)[] | undefined> =>
  (await supabase.from('profiles').select('first_name')).data?.map(({ first_name }) => first_name)

// What the live inbox shows is what the endpoint returns.
export const shown = (message: components['schemas']['Message']): Message => message

export const useLast = (): string | undefined => {
  const { inbox, view } = useInbox(supabase, { timeout: 5000 })
  return useConversation(inbox, view?.conversations[0]?.id ?? null).view?.messages.at(-1)?.content
}

const file = { url: '1/a/file.png', name: 'a.png', mime_type: 'image/png', size: 1 }

export const refused = () => [
  // @ts-expect-error There is no such endpoint.
  api.GET('/users/serach'),
  // @ts-expect-error The content of a message is text.
  api.POST('/conversations/{id}/messages', { params: { path: { id: 1 } }, body: { content: 5 } }),
  // @ts-expect-error A message has no such field.
  api.POST('/conversations/{id}/messages', { params: { path: { id: 1 } }, body: { content: 'x', nonsense: 1 } }),
  // @ts-expect-error Nor has its attachment.
  api.POST('/conversations/{id}/messages', { params: { path: { id: 1 } }, body: { attachment: { ...file, alt: '' } } }),
  // @ts-expect-error A counter-offer names the revision that was read.
  api.PATCH('/conversations/{id}/reservations/{rid}', { params: { path: { id: 1, rid: 1 } }, body: { price: 5 } }),
  // @ts-expect-error A note has words.
  api.POST('/conversations/{id}/reservations/{rid}/cancel', { params: { path: { id: 1, rid: 1 } }, body: { note: 1 } }),
  // @ts-expect-error It is about a conversation.
  api.POST('/conversations/{id}/read', { body: { up_to_message_id: 1 } }),
  // @ts-expect-error There is no such parameter.
  api.GET('/conversations', { params: { query: { archive: true } } }),
  // @ts-expect-error There is no such column.
  supabase.from('profiles').select('first_nam').then(({ data }) => data?.[0]?.first_nam.length),
  // @ts-expect-error A poll is two numbers.
  openInbox(supabase, { poll: 1000 }),
]
