// Plain JavaScript, as a program of somebody who has installed the package; Node, Deno and a browser run it.
import { createApiClient, openInbox } from 'voyagers-and-locals-client'

/** Signs in, writes, waits for an answer, reads it, closes, and returns the messages and who they were exchanged with. */
export const talk = async (supabase, { email, password, partner, text }) => {
  const { error } = await supabase.auth.signInWithPassword({ email, password })
  if (error) throw error
  const inbox = openInbox(supabase, { poll: [1e8, 1e9] })
  const chat = await inbox.openWith(partner)
  const until = (condition) =>
    new Promise((resolve) => {
      const check = () => condition() && resolve()
      chat.subscribe(check)
      inbox.subscribe(check)
      check()
    })
  // Once both are live, only an event can bring the answer.
  await until(() => chat.view.status === 'live' && inbox.view.status === 'live')
  await chat.send(text)
  await until(() => chat.view.messages.some(({ content }) => content === `${text} Yes.`))
  chat.markRead()
  await until(() => inbox.view.unread === 0 && chat.view.messages.at(-1).read)
  const messages = chat.view.messages.map(({ content }) => content)
  inbox.close()
  const { data, error: refused } = await createApiClient(supabase).GET('/users/{id}', {
    params: { path: { id: partner } },
  })
  return { messages, partner: data?.name, error: refused ?? null }
}
