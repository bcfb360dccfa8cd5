// Run by deno.test.ts: sends a message, waits for the answer, marks it as read, and prints the messages.
import { createClient } from '@supabase/supabase-js'
import { openInbox } from '../../clients/inbox.ts'

const [origin, key, email, password, conversation] = Deno.args as [string, string, string, string, string]
const supabase = createClient(origin, key, { auth: { persistSession: false } })
await supabase.auth.signInWithPassword({ email, password })
const inbox = openInbox(supabase, { poll: [1e8, 1e9] })
const chat = inbox.open(Number(conversation))
const until = (condition: () => boolean) =>
  new Promise<void>((resolve) => {
    const check = () => condition() && resolve()
    chat.subscribe(check)
    inbox.subscribe(check)
    check()
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
