import type { Api } from './api.ts'
import { ServiceError, toServiceError } from './errors.ts'
import { createRetryLoop, type RetryLoop } from './retry_loop.ts'
import type { Attachment, Draft, Message } from './types.ts'

/** A message of the caller's that is not confirmed yet. */
export interface Outgoing {
  /** Generated here. The service answers a repeated client_id with the first answer, so retrying is safe. */
  client_id: string
  content: string
  attachment: Attachment | null
  /** waiting: retried automatically. sent: answered, and about to appear in the messages. refused: see `error`. */
  state: 'sending' | 'waiting' | 'sent' | 'refused'
  error: ServiceError | null
  /** The service's answer. */
  message: Message | null
  createdAt: string
  /** The id of the newest message shown when this one was written, or 0. */
  after: number
}

/** Sends each conversation's messages in order and retries until answered. Continues after a conversation is closed. */
export interface Outbox {
  /** The ids of all messages that were returned for a send. */
  readonly answered: ReadonlySet<number>
  entries(conversation: number): readonly Outgoing[]
  send(conversation: number, draft: Draft, after: number): Promise<Message>
  /** Sends a refused message again, after those that are still pending. */
  retry(conversation: number, clientId: string): void
  /**
   * Removes an entry in any state and continues with the next. It recalls nothing: an earlier attempt whose answer was
   * lost may have stored the message. A request in flight is not cancelled either: if it succeeds the message is sent,
   * and if it fails the entry is removed instead of being retried or shown as refused. The promise of a removed entry
   * rejects.
   */
  discard(conversation: number, clientId: string): void
  /** Calls the listener on changes in this conversation. Without a listener, answered entries are removed at once. */
  subscribe(conversation: number, listener: () => void): () => void
  /** Retries pending messages now. */
  retryNow(): void
  close(): void
}

/** Replaces crypto.randomUUID, which exists on https and localhost only. */
const uuid = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = bytes[6]! & 0x0f | 0x40
  bytes[8] = bytes[8]! & 0x3f | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

interface Queue {
  entries: readonly Outgoing[]
  loop: RetryLoop
  listeners: Set<() => void>
  /** The entry whose request is in flight, and whether it was discarded since. */
  inFlight: { client_id: string; discarded: boolean } | null
}

type Deferred = { resolve: (message: Message) => void; reject: (error: ServiceError) => void }

export const createOutbox = (api: Api): Outbox => {
  const queues = new Map<number, Queue>()
  const deferreds = new Map<string, Deferred>()
  const answered = new Set<number>()
  let closed = false

  const setEntries = (queue: Queue, entries: readonly Outgoing[]) => {
    queue.entries = queue.listeners.size ? entries : entries.filter(({ state }) => state !== 'sent')
    for (const listener of queue.listeners) listener()
  }
  const update = (queue: Queue, clientId: string, change: Partial<Outgoing>) =>
    setEntries(queue, queue.entries.map((entry) => entry.client_id === clientId ? { ...entry, ...change } : entry))

  const remove = (queue: Queue, clientId: string) => {
    const wasWaiting = queue.entries.some(({ client_id, state }) => client_id === clientId && state === 'waiting')
    deferreds.get(clientId)?.reject(new ServiceError('Discarded'))
    deferreds.delete(clientId)
    setEntries(queue, queue.entries.filter(({ client_id }) => client_id !== clientId))
    // The next message need not fail for the same reason.
    if (wasWaiting) queue.loop.runNow()
  }

  const sendEntry = async (conversation: number, queue: Queue, entry: Outgoing, signal: AbortSignal): Promise<void> => {
    const { client_id } = entry
    const request = queue.inFlight = { client_id, discarded: false }
    if (entry.state === 'waiting') update(queue, client_id, { state: 'sending' })
    try {
      const message = await api.send(conversation, entry, client_id, signal)
      queue.inFlight = null
      answered.add(message.id)
      update(queue, client_id, { state: 'sent', error: null, message })
      deferreds.get(client_id)?.resolve(message)
    } catch (thrown) {
      const error = toServiceError(thrown)
      queue.inFlight = null
      update(queue, client_id, { state: error.temporary ? 'waiting' : 'refused', error })
      if (request.discarded) remove(queue, client_id)
      // The next message must not overtake this one, so the whole queue waits.
      if (error.temporary) throw error
      deferreds.get(client_id)?.reject(error)
    }
    deferreds.delete(client_id)
  }

  const queueOf = (conversation: number): Queue => {
    const existing = queues.get(conversation)
    if (existing) return existing
    const next = () => queue.entries.find(({ state }) => state === 'sending' || state === 'waiting')
    const loop = createRetryLoop(async (signal) => {
      for (let entry = next(); entry; entry = next()) await sendEntry(conversation, queue, entry, signal)
    })
    const queue: Queue = { entries: [], loop, listeners: new Set(), inFlight: null }
    queues.set(conversation, queue)
    return queue
  }

  return {
    answered,
    entries: (conversation) => queueOf(conversation).entries,
    send(conversation, { content, attachment = null }, after) {
      const client_id = uuid()
      const answer = new Promise<Message>((resolve, reject) => deferreds.set(client_id, { resolve, reject }))
      // A caller that ignores the promise sees the error in the view. Node would exit on the unhandled rejection.
      answer.catch(() => {})
      if (closed) deferreds.get(client_id)!.reject(new ServiceError('Closed'))
      else {
        const queue = queueOf(conversation)
        const initial = { state: 'sending', error: null, message: null, createdAt: new Date().toISOString() } as const
        setEntries(queue, [...queue.entries, { client_id, content, attachment, ...initial, after }])
        queue.loop.run()
      }
      return answer
    },
    retry(conversation, clientId) {
      const queue = queueOf(conversation)
      const refused = queue.entries.find(({ client_id, state }) => client_id === clientId && state === 'refused')
      if (!refused || closed) return
      const others = queue.entries.filter((entry) => entry !== refused)
      setEntries(queue, [...others, { ...refused, state: 'sending', error: null }])
      queue.loop.run()
    },
    discard(conversation, clientId) {
      const queue = queueOf(conversation)
      if (queue.inFlight?.client_id === clientId) queue.inFlight.discarded = true
      else if (queue.entries.some(({ client_id }) => client_id === clientId)) remove(queue, clientId)
    },
    subscribe(conversation, listener) {
      const queue = queueOf(conversation)
      queue.listeners.add(listener)
      return () => {
        queue.listeners.delete(listener)
        setEntries(queue, queue.entries)
      }
    },
    retryNow() {
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
