import { createClient } from '@supabase/supabase-js'
import { expect, inject, onTestFinished } from 'vitest'
import ws from 'ws'
import { type Conversation, openInbox, type Options } from '../../clients/inbox.ts'
import { openPair, type Person, sendMessage } from '../tools/people.ts'
import { pause, until } from '../tools/wait.ts'

export interface Server {
  base: string
  publishableKey: string
}

/** A broadcast's frame in the protocol 2.0.0: Supabase's Realtime sends bytes, which begin with 4, and ours text. */
const isBroadcast = (data: unknown) =>
  new Uint8Array(data as ArrayBuffer)[0] === 4 || /^\[null,null,"[^"]*","broadcast",/.test(String(data))

/** A person's inbox on the real supabase-js, as an app opens it, on sockets that can fall silent. */
export const openInboxOf = async (person: Person, options?: Options, server: Server = inject('stack')) => {
  const loss = { delivered: 0, refusals: 0, typingJoins: 0, isSilent: false }
  class Socket extends ws {
    override send(...parameters: unknown[]) {
      if (/"realtime:typing:\d+","phx_join"/.test(`${parameters[0]}`)) loss.typingJoins++
      return super.send(...parameters as Parameters<ws['send']>)
    }
    override emit(event: string | symbol, ...parameters: unknown[]) {
      if (event === 'message' && loss.isSilent) return true
      if (event === 'message' && String(parameters[0]).includes('Unauthorized')) loss.refusals++
      else if (event === 'message' && isBroadcast(parameters[0])) loss.delivered++
      return super.emit(event, ...parameters)
    }
  }
  const supabase = createClient(new URL(server.base).origin, server.publishableKey, {
    auth: { persistSession: false, storageKey: person.email },
    // Reconnects fast, so that a test need not wait.
    realtime: { transport: Socket as never, reconnectAfterMs: () => 50 },
  })
  const { data, error } = await supabase.auth.signInWithPassword(person)
  expect(error).toBe(null)
  const inbox = openInbox(supabase, options)
  onTestFinished(async () => {
    inbox.close()
    await supabase.auth.stopAutoRefresh()
    await supabase.removeAllChannels()
  })
  return {
    person,
    supabase,
    token: data.session!.access_token,
    inbox,
    /** How many events came, and how many joins were refused or are of typing; or that nothing comes any more. */
    loss,
  }
}

/** Ana and Ben with their inboxes and their conversation, live. */
export const openBoth = async (options?: Options, server: Server = inject('stack')) => {
  const { ana, ben, conversation } = await openPair(server.base)
  const [anas, bens] = await Promise.all([ana, ben].map(async (person) => {
    const opened = await openInboxOf(person, options, server)
    const chat = opened.inbox.open(conversation)
    await until(() => chat.view.status === 'live' && opened.inbox.view.status === 'live')
    return { ...opened, chat }
  }))
  return { ana, ben, conversation, anas: anas!, bens: bens! }
}

/** Sends a message over HTTP; resolves with the milliseconds from the answer until the view shows it. */
export const timeToShow = async (sender: Person, chat: Conversation, content: string): Promise<number> => {
  const shown = new Promise<number>((resolve) => {
    const stop = chat.subscribe(() => {
      if (!chat.view.messages.some((message) => message.content === content)) return
      stop()
      resolve(performance.now())
    })
  })
  await sendMessage(sender, chat.id, content)
  const answered = performance.now()
  return Math.max(0, Math.round(await Promise.race([shown, pause(60_000).then(() => Infinity)]) - answered))
}

/** For how long messages that were sent are missing in a view, at most, and how much of that it says "live". */
export const watchMissing = (chat: Conversation) => {
  const longest = { missing: 0, live: 0 }
  const times = new Map<number, typeof longest>()
  let last = performance.now()
  const timer = setInterval(() => {
    const passed = performance.now() - last
    last += passed
    for (const [id, time] of times) {
      if (id <= (chat.view.messages.at(-1)?.id ?? 0)) times.delete(id)
      time.missing += passed
      if (chat.view.status === 'live') time.live += passed
      longest.missing = Math.max(longest.missing, time.missing)
      longest.live = Math.max(longest.live, time.live)
    }
  }, 20)
  onTestFinished(() => clearInterval(timer))
  return { longest, add: ({ id }: { id: number }) => void times.set(id, { missing: 0, live: 0 }) }
}
