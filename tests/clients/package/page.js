import { createClient } from '@supabase/supabase-js'
import { createElement as h, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { useConversation, useInbox } from 'voyagers-and-locals-client/react'
import { talk } from './talk.js'

const Chat = ({ inbox, id }) => {
  const { conversation, view } = useConversation(inbox, id)
  return h(
    'section',
    {},
    h('ol', {}, view?.messages.map(({ id, content }) => h('li', { key: id }, content))),
    h('button', { disabled: !conversation, onClick: () => conversation.send('Goodbye.') }, 'Send'),
  )
}

const App = ({ supabase }) => {
  const { inbox, view } = useInbox(supabase)
  if (!view?.loaded) return h('p', {}, inbox ? 'Loading' : 'Signed out')
  const [first] = view.conversations
  return h('main', {}, h('h1', {}, view.me?.name), h(Chat, { inbox, id: first.id }))
}

Object.assign(window, {
  run: async ({ origin, key, ...conversation }) => {
    const supabase = createClient(origin, key)
    const result = await talk(supabase, conversation)
    // StrictMode mounts everything twice.
    createRoot(document.body).render(h(StrictMode, {}, h(App, { supabase })))
    Object.assign(window, {
      signOut: () => supabase.auth.signOut(),
      signIn: (account) => supabase.auth.signInWithPassword(account),
    })
    return result
  },
})
