import type { Api } from './api.ts'
import { keepChannel, type KeptChannel } from './channel.ts'
import type { Marks } from './marks.ts'
import { beforeUnread, lastId, markedUpTo, merge, placeOf, unconfirmed } from './merge.ts'
import type { Outbox, Outgoing } from './outbox.ts'
import { openPasses } from './passes.ts'
import type { Problem } from './problem.ts'
import type { Client, Draft, EventName, Hint, Message, Person, Reservation, Status } from './shapes.ts'
import { type Listener, openStore } from './store.ts'

export interface ConversationView {
  id: number
  /** Oldest first: exactly what the service holds, from where it was opened. Show `outgoing` below it. */
  messages: readonly Message[]
  /** One's own messages that are not among these yet. */
  outgoing: readonly Outgoing[]
  hasOlder: boolean
  /** Whether the messages have been read once; before that, none does not mean that there are none. */
  loaded: boolean
  /** Whether the other one is writing. */
  typing: boolean
  /** The other one. */
  other: Person | null
  reservations: readonly Reservation[]
  status: Status
  /** What the last request came to, until one succeeds. */
  problem: Problem | null
}

/** A conversation that stays as the service has it, until it is closed. */
export interface Conversation {
  readonly id: number
  readonly view: ConversationView
  subscribe(listener: Listener): () => void
  /** Shows it at once and sends it until it is answered; rejects only where it is refused or discarded, or the inbox closes before. */
  send(draft: string | Draft): Promise<Message>
  /** Tries a refused message again. */
  retry(clientId: string): void
  /**
   * Forgets a message that was refused or waits. What has arrived stays, though nobody was told yet; what is on its way is sent if the
   * service takes it, and is not tried again.
   */
  discard(clientId: string): void
  /** Adds a page of older messages, if there are any; rejects where that fails. */
  older(): Promise<void>
  /** Tells the other one that something is being written; call it at every key. */
  typing(): void
  /** Marks what was received as read, up to this message, or all that is shown; tried until it is answered. */
  markRead(upTo?: number): void
  close(): void
}

/** What a conversation needs of the inbox it is in. */
export interface Surroundings {
  supabase: Client
  api: Api
  outbox: Outbox
  marks: Marks
  me: Promise<Person>
  /** The number of the join that holds, 0 while there is none. */
  join(): number
  /** Whether one has not blocked this person; false before that is known. */
  mayHear(person: number): boolean
}

/** What the inbox needs of a conversation. */
export interface OpenConversation extends Conversation {
  hear(event: EventName, hint: Hint): void
  joined(): void
  blocksChanged(): void
  resync(): void
  wake(): void
}

// The other one sees somebody typing for a little longer than it takes until the next sign of it.
const typingEvery = 3000
const typingLasts = 5000

export const openConversation = (id: number, { supabase, api, outbox, marks, me, join, mayHear }: Surroundings) => {
  const life = new AbortController()
  let myId = 0
  let newestHint = 0
  let readUpTo = 0
  let rereadMarks = false
  let hasHole = true
  let marksHeard = 0
  let typedAt = 0
  let typingTimer: ReturnType<typeof setTimeout> | undefined
  let olderPage: Promise<void> | null = null

  const store = openStore<ConversationView>({
    id,
    messages: [],
    outgoing: outbox.of(id),
    hasOlder: false,
    loaded: false,
    typing: false,
    other: null,
    reservations: [],
    status: join() ? 'catching up' : 'offline',
    problem: null,
  })
  const last = () => lastId(store.view.messages)
  // What an event named may be removed before it is read, and is not there to be shown then.
  const seen = () => Math.max(last(), readUpTo)
  const status = (problem = store.view.problem): Status => {
    if (!join() || problem?.temporary) return 'offline'
    return hasHole ? 'catching up' : 'live'
  }
  const ended = (problem: Problem | null) => store.set({ problem, status: status(problem) })

  const outgoing = (messages: readonly Message[]) => {
    const known = outbox.of(id)
    const left = unconfirmed(known, messages, myId, outbox.answered)
    const shown = store.view.outgoing
    return left.length === shown.length && left.every((entry, index) => entry === shown[index]) ? shown : left
  }
  const take = (page: readonly Message[], more: Partial<ConversationView> = {}) => {
    if (life.signal.aborted) return
    const messages = merge(store.view.messages, markedUpTo(page, myId, marks.made(id)))
    store.set({ ...more, messages, outgoing: outgoing(messages) })
    for (const { client_id, message } of outbox.of(id)) {
      if (message && message.id <= lastId(messages)) outbox.drop(id, client_id)
    }
  }

  const load = async (signal: AbortSignal) => {
    const { messages, more } = await api.newest(id, signal)
    take(messages, { loaded: true, hasOlder: more })
  }
  /** Reads on from where there is no hole, or from where marks may have come; whatever the hints were, the pages are the truth. */
  const readOn = async (signal: AbortSignal) => {
    const rereading = rereadMarks
    if (!rereading && !hasHole && newestHint <= seen()) return
    rereadMarks = false
    try {
      for (let from = rereading ? beforeUnread(store.view.messages) : last(), more = true; more;) {
        const page = await api.after(id, from, signal)
        take(page.messages)
        from = lastId(page.messages)
        more = page.more
      }
    } catch (error) {
      rereadMarks ||= rereading
      throw error
    }
  }
  const messages = openPasses(async (signal) => {
    // What was missed while the channel was not joined is only sure to be here if the reading began after the join.
    const began = join()
    const hinted = newestHint
    myId = (await me).id
    await (store.view.loaded ? readOn(signal) : load(signal))
    readUpTo = Math.max(readUpTo, hinted)
    if (began && began === join() && newestHint <= seen()) hasHole = false
  }, ended)

  const details = openPasses(async (signal) => {
    const [{ id: myId }, { Voyager, Local, Reservations }] = await Promise.all([me, api.detail(id, signal)])
    if (signal.aborted) return
    store.set({ reservations: Reservations, other: Voyager.id === myId ? Local : Voyager })
    hearTyping()
  })

  const unwatchMarks = marks.watch(id, (problem) => {
    if (problem) ended(problem)
    else store.set({ messages: markedUpTo(store.view.messages, myId, marks.made(id)) })
  })

  const stopTyping = () => {
    clearTimeout(typingTimer)
    store.set({ typing: false })
  }
  let othersTyping: KeptChannel | null = null
  /** Is on the topic with the other one, and off it while one has blocked them: the platform may go on letting them speak there. */
  const hearTyping = () => {
    const { other } = store.view
    if (life.signal.aborted || !other) return
    if (mayHear(other.id)) {
      othersTyping ??= keepChannel(supabase, `typing:${id}`, {
        typing(payload) {
          if ((payload as { user_id?: unknown } | null)?.user_id === myId) return
          clearTimeout(typingTimer)
          typingTimer = setTimeout(stopTyping, typingLasts)
          store.set({ typing: true })
        },
      }, () => {})
    } else if (othersTyping) {
      othersTyping.close()
      othersTyping = null
      stopTyping()
    }
  }

  const unwatch = outbox.watch(id, () => {
    store.set({ outgoing: outgoing(store.view.messages) })
    for (const { message } of outbox.of(id)) newestHint = Math.max(newestHint, message?.id ?? 0)
    if (newestHint > seen()) messages.run()
  })

  const readOlder = async () => {
    const { messages: known, hasOlder } = store.view
    if (!hasOlder) return
    const heardBefore = marksHeard
    const page = await api.before(id, known[0]!.id, life.signal)
    take(page.messages, { hasOlder: page.more })
    // A mark that came while the page was on its way may concern the page.
    if (marksHeard === heardBefore) return
    rereadMarks = true
    messages.run()
  }

  messages.run()
  details.run()

  const conversation: OpenConversation = {
    id,
    get view() {
      return store.view
    },
    subscribe: store.subscribe,
    send(draft) {
      typedAt = 0
      return outbox.send(id, typeof draft === 'string' ? { content: draft } : draft, last())
    },
    retry: (clientId) => outbox.retry(id, clientId),
    discard: (clientId) => outbox.drop(id, clientId),
    older() {
      if (olderPage) return olderPage
      olderPage = readOlder().finally(() => olderPage = null)
      // Whoever does not wait for the page sees in the view what became of it.
      olderPage.catch((problem) => life.signal.aborted || ended(problem))
      return olderPage
    },
    typing() {
      if (!myId || Date.now() - typedAt < typingEvery) return
      typedAt = Date.now()
      othersTyping?.send('typing', { user_id: myId })
    },
    markRead(upTo = last()) {
      const received = store.view.messages.findLast(({ id, user_id }) => id <= upTo && user_id !== myId)
      if (received && !received.read) marks.make(id, received.id)
    },
    hear(event, hint) {
      if (event === 'message.created') {
        if (hint.user_id !== myId) stopTyping()
        const place = placeOf(hint, seen())
        if (place === 'seen') return
        newestHint = Math.max(newestHint, hint.id)
        hasHole ||= place === 'after a hole'
        store.set({ status: status() })
        messages.run()
      } else if (event === 'message.read') {
        // The event names the newest message that was marked; others before it may have been, so all that were unread are read again.
        marksHeard++
        const concerns = ({ id, user_id, read }: Message) => !read && id <= hint.id && user_id !== hint.user_id
        if (hint.id <= last() && !store.view.messages.some(concerns)) return
        rereadMarks = true
        messages.run()
      } else if (event === 'reservation.changed') details.run()
    },
    joined() {
      if (!join()) hasHole = true
      store.set({ status: status() })
    },
    resync() {
      rereadMarks = true
      messages.hurry()
      details.hurry()
    },
    blocksChanged: hearTyping,
    wake: () => othersTyping?.wake(),
    close() {
      life.abort()
      clearTimeout(typingTimer)
      unwatch()
      unwatchMarks()
      othersTyping?.close()
      messages.close()
      details.close()
      store.close()
    },
  }
  return conversation
}
