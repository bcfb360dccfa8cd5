// Run by deno.test.ts: somebody on Deno says hello, waits for an answer, marks it and leaves. Prints what they saw.
import { createClient } from '@supabase/supabase-js'
import { openInbox } from '../../clients/inbox.ts'

const [origin, key, email, password, conversation] = Deno.args as [string, string, string, string, string]
const supabase = createClient(origin, key, { auth: { persistSession: false } })
await supabase.auth.signInWithPassword({ email, password })
const inbox = openInbox(supabase, { poll: [1e8, 1e9] })
const chat = inbox.open(Number(conversation))
const until = (holds: () => boolean) =>
  new Promise<void>((resolve) => {
    const look = () => holds() && resolve()
    chat.subscribe(look)
    inbox.subscribe(look)
    look()
  })
await until(() => chat.view.status === 'live' && inbox.view.status === 'live')
await chat.send('Hello from Deno')
await until(() => chat.view.messages.length === 2)
chat.markRead()
await until(() =>
  inbox.view.unread === 0 && chat.view.messages.every(({ read, user_id }) => read || user_id === inbox.view.me?.id)
)
console.log(JSON.stringify(chat.view.messages.map(({ content }) => content)))
inbox.close()
Deno.exit(0)
