/// <reference lib="dom" />
// The page of killed_pages.test.ts: writes numbers as a user would, each first as a stored draft, until it is killed.
import { createClient } from '@supabase/supabase-js'
import { openInbox } from '../../clients/inbox.ts'

declare global {
  /** Called with the number that is stored as a draft, and is about to be sent. */
  var reportStored: (content: string) => Promise<void>
  var start: (options: Options) => Promise<void>
  /** Whether nothing is left to send. */
  var isSent: () => boolean
}

interface Options {
  origin: string
  key: string
  email: string
  password: string
  conversation: number
  /**
   * The first and the last number to write, after a draft that was left; or null for a page that only sends what others
   * have left. It leaves drafts alone: two pages that write the same text write two messages.
   */
  numbers: { from: number; to: number } | null
}

globalThis.start = async ({ origin, key, email, password, conversation, numbers }) => {
  const supabase = createClient(origin, key)
  const { data: { session } } = await supabase.auth.getSession()
  if (!session) await supabase.auth.signInWithPassword({ email, password })
  const inbox = openInbox(supabase)
  const chat = inbox.open(conversation)
  await new Promise<void>((resolve) => {
    const check = () => inbox.view.isDurable && resolve()
    inbox.subscribe(check)
    check()
  })
  globalThis.isSent = () => chat.view.outgoing.length === 0 && chat.view.draft === ''
  const write = async (text: string) => {
    await chat.setDraft(text)
    await globalThis.reportStored(text)
    chat.send(text)
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20))
  }
  if (!numbers) return
  const { draft } = chat.view
  if (draft) await write(draft)
  for (let number = Math.max(numbers.from, Number(draft) + 1); number <= numbers.to; number++) await write(`${number}`)
}
