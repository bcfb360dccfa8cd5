import { ServiceError, toServiceError } from './errors.ts'
import type { InboxParts } from './inbox.ts'
import { replaced } from './merge.ts'
import { createRetryLoop } from './retry_loop.ts'
import { createStore } from './store.ts'
import { onClosed } from './timers.ts'
import { attachmentOf } from './uploads.ts'
import type { Draft, Message } from './types.ts'
import { uuid } from './uuid.ts'
import type { Outgoing, UnsentMessage } from './views.ts'
import type { Sent, Unsent } from './unsent.ts'

const isPending = ({ state }: Outgoing): boolean => state === 'sending' || state === 'waiting'

type Messages = readonly UnsentMessage[]
const withMessages = (change: (messages: Messages) => Messages) => (unsent: Unsent): Unsent => (
  { ...unsent, messages: change(unsent.messages) }
)
const without = (clientId: string) => withMessages((all) => all.filter(({ client_id }) => client_id !== clientId))
const withRefusal = (clientId: string, { message, status, body }: ServiceError) =>
  withMessages((all) =>
    all.map((one) => one.client_id === clientId ? { ...one, refused: { message, status, body } } : one)
  )
/** Puts it at the end. What was written is no longer a draft. */
const withMessage = (message: UnsentMessage) => (unsent: Unsent): Unsent => {
  const { [message.conversation]: _, ...drafts } = unsent.drafts
  return { ...unsent, drafts, messages: [...without(message.client_id)(unsent).messages, message] }
}

const withMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => ({
  ...unsent,
  readMarkers: { ...unsent.readMarkers, [conversation]: Math.max(upTo, unsent.readMarkers[conversation] ?? 0) },
})
const withoutMarker = (conversation: number, upTo: number) => (unsent: Unsent): Unsent => {
  const { [conversation]: stored = 0, ...others } = unsent.readMarkers
  return stored > upTo ? unsent : { ...unsent, readMarkers: others }
}

/** What sends: `onMarked` is told when messages have been marked as read. */
type Sending = Pick<InboxParts, 'closed' | 'api' | 'unsent'> & { onMarked: () => void }

/** As the view has it, after `known`, as which it was shown before. */
const toOutgoing = ({ conversation: _, refused, ...message }: UnsentMessage, known?: Outgoing): Outgoing => {
  if (known && (known.state === 'refused') === Boolean(refused)) return known
  const entry = { ...message, error: null, progress: null, message: null }
  if (refused) {
    return { ...entry, state: 'refused', error: new ServiceError(refused.message, refused.status, 0, refused.body) }
  }
  // One that was written in another page, or before this one was opened, waits for its turn.
  return { ...entry, state: known ? 'sending' : 'waiting' }
}

/** Sends up to which message a conversation is read. */
const createReadMarker = (id: number, { closed, api, unsent, onMarked }: Sending, confirm: (upTo: number) => void) => {
  // What was refused is not sent again.
  let sent = 0
  const marked = () => unsent.current().readMarkers[id] ?? 0
  const loop = createRetryLoop(closed, async () => {
    const upTo = marked()
    if (!upTo) return
    sent = Math.max(upTo, sent)
    try {
      await api.markRead(id, upTo)
      confirm(upTo)
      onMarked()
    } catch (error) {
      if (toServiceError(error).temporary) throw error
    }
    unsent.change(withoutMarker(id, upTo))
  })
  return {
    /** Marks everything up to this message as read; a marker never moves back. */
    mark: (upTo: number) => upTo > Math.max(sent, marked()) && unsent.change(withMarker(id, upTo)),
    sync: () => marked() && loop.run(),
    runNow: () => marked() && loop.runNow(),
  }
}

/** The messages to be sent in a conversation: `unsent` has which and in which order, and here is how far each is. */
const createEntries = (conversation: number, { closed, unsent }: Sending) => {
  const store = createStore({ all: [] as readonly Outgoing[], markedUpTo: 0 })
  const answered = new Set<number>()
  const awaited = new Map<string, { resolve: (message: Message) => void; reject: (reason: unknown) => void }>()
  const all = () => store.view.all
  const set = (entries: readonly Outgoing[]) => {
    store.set({ all: replaced(all(), entries) })
    for (const [clientId, { reject }] of awaited) {
      const entry = all().find(({ client_id }) => client_id === clientId)
      if (entry && isPending(entry)) continue
      awaited.delete(clientId)
      reject(entry?.error ?? new ServiceError(closed.aborted ? 'Closed before it was answered' : 'Discarded'))
    }
  }
  const update = (clientId: string, change: Partial<Outgoing>) =>
    set(all().map((entry) => entry.client_id === clientId ? { ...entry, ...change } : entry))
  const ownUnsent = () => unsent.current().messages.filter((message) => message.conversation === conversation)
  const isUnsent = (clientId: string) => ownUnsent().some(({ client_id }) => client_id === clientId)
  onClosed(closed, () => set([]))
  return {
    ...{ all, set, update, ownUnsent, isUnsent, subscribe: store.subscribe },
    markedUpTo: () => store.view.markedUpTo,
    confirm: (upTo: number) => store.set({ markedUpTo: Math.max(upTo, store.view.markedUpTo) }),
    /** The ids of all messages that were returned for a send. */
    answered: answered as ReadonlySet<number>,
    /** This page or another has sent a message. */
    settle({ client_id, message }: Sent) {
      answered.add(message.id)
      awaited.get(client_id)?.resolve(message)
      update(client_id, { state: 'sent', error: null, message })
    },
    /** Rejects when the message was refused or discarded, or when the inbox closes. */
    answerOf(clientId: string): Promise<Message> {
      const answer = new Promise<Message>((resolve, reject) => awaited.set(clientId, { resolve, reject }))
      // A caller that ignores the promise sees the error in the view. Node would exit on the unhandled rejection.
      answer.catch(() => {})
      return answer
    },
  }
}

/** Sends the messages of a conversation in order, and its read marker. */
const createQueue = (conversation: number, sending: Sending) => {
  const { closed, api, unsent } = sending
  const entries = createEntries(conversation, sending)
  const marker = createReadMarker(conversation, sending, entries.confirm)
  const { all, set, update, ownUnsent, isUnsent } = entries
  let inFlight: string | null = null
  /** Follows `unsent`, which this page or another has changed. */
  const sync = () => {
    marker.sync()
    const known = new Map(all().map((entry) => [entry.client_id, entry]))
    const next = ownUnsent().map((message) => toOutgoing(message, known.get(message.client_id)))
    const left = all().filter(({ client_id }) => !isUnsent(client_id))
    set([...left.filter(({ client_id, state }) => state === 'sent' || client_id === inFlight), ...next])
    // The next message need not fail for the same reason.
    if (left.some(({ state }) => state === 'waiting')) loop.runNow()
    else if (all().some(isPending)) loop.run()
  }
  /** Uploads the file of a message, if it has one that has not arrived yet. */
  const upload = async ({ client_id, attachment }: Outgoing): Promise<void> => {
    // Its own file has its client_id in the path.
    if (!attachment?.url.includes(client_id)) return
    const onProgress = (progress: number) => {
      update(client_id, { progress })
      return isUnsent(client_id)
    }
    // What is not kept any more was uploaded.
    const file = await unsent.fileOf(client_id)
    if (file) {
      onProgress(0)
      await api.upload(attachment, file, onProgress)
      unsent.dropFile(client_id)
      update(client_id, { progress: null })
      if (unsent.isDurable()) await unsent.reload()
    }
    if (!isUnsent(client_id)) throw new ServiceError('Discarded')
  }
  const send = async (entry: Outgoing): Promise<void> => {
    const { client_id } = entry
    inFlight = client_id
    if (entry.state === 'waiting') update(client_id, { state: 'sending' })
    try {
      await upload(entry)
      const sent = { client_id, message: await api.send(conversation, entry, client_id) }
      inFlight = null
      entries.settle(sent)
      unsent.announce(sent)
      unsent.change(without(client_id))
    } catch (thrown) {
      const error = toServiceError(thrown)
      inFlight = null
      if (!error.temporary) return void unsent.change(withRefusal(client_id, error))
      update(client_id, { state: 'waiting', error, progress: null })
      // Removes it if it was discarded during the request.
      sync()
      // The next message must not overtake this one, so the whole queue waits.
      throw error
    }
  }
  const loop = createRetryLoop(closed, async () => {
    // Saves what is to be sent, and learns what another page has sent or discarded, anew if the storage does not hang.
    await unsent.reload()
    const next = () => closed.aborted ? undefined : all().find(isPending)
    for (let one = next(); one; one = next()) {
      await send(one)
      if (unsent.isDurable()) await unsent.reload()
    }
  })
  sync()

  return {
    ...entries,
    marker,
    sync,
    send({ content, attachment: given = null, file = null }: Draft, after: number): Promise<Message> {
      const draft = unsent.current().drafts[conversation]
      const client_id = draft && draft.text === content && !given && !file ? draft.client_id : uuid()
      const attachment = file ? attachmentOf(conversation, client_id, file) : given
      const message = { client_id, content, attachment, createdAt: new Date().toISOString(), after }
      // Its entry comes with it: what is shown and not unsent was discarded.
      unsent.change(withMessage({ ...message, conversation, refused: null }), client_id, file)
      const answer = entries.answerOf(client_id)
      update(client_id, { state: 'sending' })
      return answer
    },
    /** Sends a refused message again, after those that are still pending. */
    retry(clientId: string) {
      const message = ownUnsent().find(({ client_id, refused }) => client_id === clientId && refused)
      if (message) unsent.change(withMessage({ ...message, refused: null }))
    },
    /** Removes an entry in any state. A request in flight goes on, but is not retried. */
    discard(clientId: string) {
      set(all().filter(({ client_id, state }) => client_id !== clientId || state !== 'sent'))
      if (!isUnsent(clientId)) return
      unsent.change(without(clientId))
      unsent.dropFile(clientId)
    },
    runNow() {
      marker.runNow()
      if (all().some(isPending)) loop.runNow()
    },
  }
}
export type Queue = ReturnType<typeof createQueue>

/**
 * Sends each conversation's messages in order, and its read marker, and retries until answered, also what an earlier
 * page has left.
 */
export const createOutbox = (sending: Sending) => {
  const { unsent } = sending
  const queues = new Map<number, Queue>()
  const of = (conversation: number): Queue => {
    const queue = queues.get(conversation) ?? createQueue(conversation, sending)
    queues.set(conversation, queue)
    return queue
  }
  unsent.hearSent((sent) => queues.forEach((queue) => queue.settle(sent)))
  unsent.subscribe(() => {
    const { messages, readMarkers } = unsent.current()
    for (const id of [...messages.map(({ conversation }) => conversation), ...Object.keys(readMarkers)]) of(Number(id))
    queues.forEach((queue) => queue.sync())
  })
  return {
    of,
    /** Retries what is pending now, also what another page has left. */
    runNow() {
      unsent.reload()
      queues.forEach((queue) => queue.runNow())
    },
  }
}
export type Outbox = ReturnType<typeof createOutbox>
