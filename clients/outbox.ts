import type { Api } from './api.ts'
import { ServiceError, toServiceError } from './errors.ts'
import { createRetryLoop, type RetryLoop } from './retry_loop.ts'
import { attachmentOf } from './uploads.ts'
import type { Attachment, Draft, Message } from './types.ts'
import { uuid } from './uuid.ts'
import type { Outcome, Refusal, Unsent, UnsentMessage, UnsentStore } from './unsent.ts'

/** A message of the caller's that is not confirmed yet. */
export interface Outgoing {
  /** Generated here. The service answers a repeated client_id with the first answer, so retrying is safe. */
  client_id: string
  content: string
  attachment: Attachment | null
  /** waiting: retried automatically. sent: answered, and about to appear in the messages. refused: see `error`. */
  state: 'sending' | 'waiting' | 'sent' | 'refused'
  error: ServiceError | null
  /** How much of its file has arrived, from 0 to 1, while it is uploaded. */
  progress: number | null
  /** The service's answer. */
  message: Message | null
  createdAt: string
  /** The id of the newest message shown when this one was written, or 0. */
  after: number
}

interface Queue {
  entries: readonly Outgoing[]
  loop: RetryLoop
  listeners: Set<() => void>
  /** The client_id of the entry whose request is in flight. */
  inFlight: string | null
}

type Deferred = { resolve: (message: Message) => void; reject: (error: ServiceError) => void }

const errorOf = ({ message, status, body }: Refusal): ServiceError => new ServiceError(message, status, 0, body)

const isPending = ({ state }: Outgoing): boolean => state === 'sending' || state === 'waiting'

const without = (clientId: string) => (unsent: Unsent): Unsent => ({
  ...unsent,
  messages: unsent.messages.filter(({ client_id }) => client_id !== clientId),
})
const withRefusal = (clientId: string, refused: Refusal) => (unsent: Unsent): Unsent => ({
  ...unsent,
  messages: unsent.messages.map((message) => message.client_id === clientId ? { ...message, refused } : message),
})
/** Puts it at the end. What was written is no longer a draft. */
const withMessage = (message: UnsentMessage) => (unsent: Unsent): Unsent => {
  const { [message.conversation]: _, ...drafts } = unsent.drafts
  return { ...unsent, drafts, messages: [...without(message.client_id)(unsent).messages, message] }
}

/**
 * Sends each conversation's messages in order and retries until answered. Continues after a conversation is closed, and
 * after the page was, when the user's inbox is opened again. `unsent` decides which messages there are and in which
 * order; their states during an attempt are this page's.
 */
export const createOutbox = (api: Api, unsent: UnsentStore) => {
  const queues = new Map<number, Queue>()
  const deferreds = new Map<string, Deferred>()
  const answered = new Set<number>()
  const uploaded = new Set<string>()
  let closed = false

  const unsentOf = (conversation: number) =>
    unsent.current.messages.filter((message) => message.conversation === conversation)

  const setEntries = (queue: Queue, entries: readonly Outgoing[]) => {
    const shown = queue.listeners.size ? entries : entries.filter(({ state }) => state !== 'sent')
    if (shown.length === queue.entries.length && shown.every((entry, index) => entry === queue.entries[index])) return
    queue.entries = shown
    for (const listener of queue.listeners) listener()
  }
  const update = (queue: Queue, clientId: string, change: Partial<Outgoing>) =>
    setEntries(queue, queue.entries.map((entry) => entry.client_id === clientId ? { ...entry, ...change } : entry))

  const settle = ({ client_id, message, refused }: Outcome) => {
    if (message) deferreds.get(client_id)?.resolve(message)
    else if (refused) deferreds.get(client_id)?.reject(errorOf(refused))
    deferreds.delete(client_id)
  }

  const toOutgoing = ({ conversation: _, refused, ...message }: UnsentMessage, known?: Outgoing): Outgoing => {
    if (known && (known.state === 'refused') === Boolean(refused)) return known
    if (refused) return { ...message, state: 'refused', error: errorOf(refused), progress: null, message: null }
    // One that was written in another page, or before this one was opened, waits for its turn.
    const state = known || deferreds.has(message.client_id) ? 'sending' : 'waiting'
    return { ...message, state, error: null, progress: null, message: null }
  }

  /** Makes the entries follow `unsent`, which this page or another has changed. */
  const sync = (conversation: number, queue: Queue) => {
    const before = new Map(queue.entries.map((entry) => [entry.client_id, entry]))
    const messages = unsentOf(conversation)
    const isUnsent = new Set(messages.map(({ client_id }) => client_id))
    const left = queue.entries.filter(({ client_id }) => !isUnsent.has(client_id))
    const kept = left.filter(({ client_id, state }) => state === 'sent' || client_id === queue.inFlight)
    const entries = messages.map((message) => toOutgoing(message, before.get(message.client_id)))
    setEntries(queue, [...kept, ...entries])
    for (const { client_id, state } of left.filter((entry) => !kept.includes(entry))) {
      deferreds.get(client_id)?.reject(new ServiceError('Discarded'))
      deferreds.delete(client_id)
      // The next message need not fail for the same reason.
      if (state === 'waiting') queue.loop.runNow()
    }
    if (entries.some((entry) => isPending(entry) && before.get(entry.client_id) !== entry)) queue.loop.run()
  }

  const isUnsent = (clientId: string) => unsent.current.messages.some(({ client_id }) => client_id === clientId)
  const uploadFile = async (queue: Queue, { client_id, attachment }: Outgoing, signal: AbortSignal): Promise<void> => {
    // Its own file has its client_id in the path.
    if (!attachment?.url.includes(client_id) || uploaded.has(client_id)) return
    // What is not kept any more was uploaded.
    const file = await unsent.fileOf(client_id)
    const onProgress = (progress: number) => {
      update(queue, client_id, { progress })
      return isUnsent(client_id)
    }
    if (file) onProgress(0)
    if (file) await api.upload(attachment, file, { onProgress, signal })
    uploaded.add(client_id)
    unsent.dropFile(client_id)
    update(queue, client_id, { progress: null })
    if (!isUnsent(client_id)) throw new ServiceError('Discarded')
  }

  const sendEntry = async (conversation: number, queue: Queue, entry: Outgoing, signal: AbortSignal): Promise<void> => {
    const { client_id } = entry
    const finish = (outcome: Outcome) => {
      settle(outcome)
      unsent.announce(outcome)
    }
    queue.inFlight = client_id
    if (entry.state === 'waiting') update(queue, client_id, { state: 'sending' })
    try {
      await uploadFile(queue, entry, signal)
      const message = await api.send(conversation, entry, client_id, signal)
      queue.inFlight = null
      answered.add(message.id)
      update(queue, client_id, { state: 'sent', error: null, message })
      finish({ client_id, message, refused: null })
      unsent.change(without(client_id))
    } catch (thrown) {
      const error = toServiceError(thrown)
      queue.inFlight = null
      if (error.temporary) {
        update(queue, client_id, { state: 'waiting', error, progress: null })
        // Removes it if it was discarded during the request.
        sync(conversation, queue)
        // The next message must not overtake this one, so the whole queue waits.
        throw error
      }
      const refused = { message: error.message, status: error.status, body: error.body }
      unsent.change(withRefusal(client_id, refused))
      finish({ client_id, message: null, refused })
    }
  }

  const queueOf = (conversation: number): Queue => {
    const existing = queues.get(conversation)
    if (existing) return existing
    const next = () => queue.entries.find(isPending)
    const loop = createRetryLoop((signal) =>
      unsent.exclusively(conversation, async () => {
        // Saves what is to be sent, and learns what another page has sent in the meantime.
        await unsent.reload()
        for (let entry = next(); entry && !signal.aborted; entry = next()) {
          await sendEntry(conversation, queue, entry, signal)
        }
      })
    )
    const queue: Queue = { entries: [], loop, listeners: new Set(), inFlight: null }
    queues.set(conversation, queue)
    sync(conversation, queue)
    return queue
  }

  unsent.subscribe((outcome) => {
    if (outcome) return settle(outcome)
    for (const { conversation } of unsent.current.messages) queueOf(conversation)
    for (const [conversation, queue] of queues) sync(conversation, queue)
  })

  return {
    /** The ids of all messages that were returned for a send. */
    answered: answered as ReadonlySet<number>,
    entries: (conversation: number) => queueOf(conversation).entries,
    send(conversation: number, { content, attachment: given = null, file = null }: Draft, after: number) {
      const draft = unsent.current.drafts[conversation]
      const client_id = draft && draft.text === content && !given && !file ? draft.client_id : uuid()
      const attachment = file ? attachmentOf(conversation, client_id, file) : given
      const answer = new Promise<Message>((resolve, reject) => deferreds.set(client_id, { resolve, reject }))
      // A caller that ignores the promise sees the error in the view. Node would exit on the unhandled rejection.
      answer.catch(() => {})
      if (closed) deferreds.get(client_id)!.reject(new ServiceError('Closed'))
      else {
        const createdAt = new Date().toISOString()
        if (file) unsent.keepFile(client_id, file)
        unsent.change(withMessage({ conversation, client_id, content, attachment, createdAt, after, refused: null }))
      }
      return answer
    },
    /** Sends a refused message again, after those that are still pending. */
    retry(conversation: number, clientId: string) {
      const message = unsentOf(conversation).find(({ client_id, refused }) => client_id === clientId && refused)
      if (message) unsent.change(withMessage({ ...message, refused: null }))
    },
    /**
     * Removes an entry in any state, whose promise rejects, and continues with the next. It recalls nothing: an attempt
     * whose answer was lost may have stored the message, and a request in flight goes on, but is not retried.
     */
    discard(conversation: number, clientId: string) {
      const queue = queueOf(conversation)
      setEntries(queue, queue.entries.filter(({ client_id, state }) => client_id !== clientId || state !== 'sent'))
      if (!isUnsent(clientId)) return
      unsent.change(without(clientId))
      unsent.dropFile(clientId)
    },
    /** Calls the listener on changes in this conversation. Without one, answered entries are removed at once. */
    subscribe(conversation: number, listener: () => void) {
      const queue = queueOf(conversation)
      queue.listeners.add(listener)
      return () => {
        queue.listeners.delete(listener)
        setEntries(queue, queue.entries)
      }
    },
    /** Retries pending messages now, also those that another page has left. */
    retryNow() {
      unsent.reload()
      for (const { loop, entries } of queues.values()) if (entries.length) loop.runNow()
    },
    close() {
      closed = true
      for (const { loop, listeners } of queues.values()) {
        listeners.clear()
        loop.close()
      }
      for (const { reject } of deferreds.values()) reject(new ServiceError('Closed before it was answered'))
      deferreds.clear()
    },
  }
}
export type Outbox = ReturnType<typeof createOutbox>
