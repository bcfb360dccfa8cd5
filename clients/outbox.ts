import type { Api } from './api.ts'
import { openPasses, type Passes } from './passes.ts'
import { Problem, problemFrom } from './problem.ts'
import type { Attachment, Draft, Message } from './shapes.ts'

/** A message of one's own on its way. */
export interface Outgoing {
  /** Made here, sent along: the service answers a repeat with the first answer, so that trying again is safe. */
  client_id: string
  content: string
  attachment: Attachment | null
  /** waiting: it will be tried again by itself. sent: answered, and about to be among the messages. refused: see error. */
  state: 'sending' | 'waiting' | 'sent' | 'refused'
  error: Problem | null
  /** What the service answered. */
  message: Message | null
  createdAt: string
  /** The newest message that was shown when it was written, 0 where none was. */
  after: number
}

/** Sends messages in the order they were written in, each until it is answered; outlives the conversations on the screen. */
export interface Outbox {
  /** Ids of messages that a send was answered with. */
  readonly answered: ReadonlySet<number>
  of(conversation: number): readonly Outgoing[]
  send(conversation: number, draft: Draft, after: number): Promise<Message>
  /** Tries a refused one again, behind what is on its way. */
  retry(conversation: number, clientId: string): void
  /**
   * Forgets one, whether it was refused, waits or is now among the messages; what was behind it goes on. It takes nothing back: an earlier
   * try may have arrived with its answer lost, and then it is a message. One whose request is on its way is not called back either: it is
   * sent if the service takes it, and else forgotten instead of tried again or shown as refused. A promise of its answer is rejected.
   */
  drop(conversation: number, clientId: string): void
  /** Hears of changes in one conversation; while nobody does, what is answered is forgotten. */
  watch(conversation: number, listener: () => void): () => void
  /** Tries what waits now. */
  hurry(): void
  close(): void
}

/** crypto.randomUUID is there only on https and localhost; this is there on every page. */
const uuid = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  bytes[6] = bytes[6]! & 0x0f | 0x40
  bytes[8] = bytes[8]! & 0x3f | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

interface Queue {
  entries: readonly Outgoing[]
  passes: Passes
  listeners: Set<() => void>
  /** The one whose request is on its way, and whether it was dropped since it set out. */
  onItsWay: { client_id: string; dropped: boolean } | null
}

type Settle = { resolve: (message: Message) => void; reject: (problem: Problem) => void }

export const openOutbox = (api: Api): Outbox => {
  const queues = new Map<number, Queue>()
  const promises = new Map<string, Settle>()
  const answered = new Set<number>()
  let closed = false

  const write = (queue: Queue, entries: readonly Outgoing[]) => {
    queue.entries = queue.listeners.size ? entries : entries.filter(({ state }) => state !== 'sent')
    for (const listener of queue.listeners) listener()
  }
  const change = (queue: Queue, clientId: string, now: Partial<Outgoing>) =>
    write(queue, queue.entries.map((entry) => entry.client_id === clientId ? { ...entry, ...now } : entry))

  const forget = (queue: Queue, clientId: string) => {
    const waits = queue.entries.some(({ client_id, state }) => client_id === clientId && state === 'waiting')
    promises.get(clientId)?.reject(new Problem('Discarded'))
    promises.delete(clientId)
    write(queue, queue.entries.filter(({ client_id }) => client_id !== clientId))
    // What stopped it need not stop the next one.
    if (waits) queue.passes.hurry()
  }

  const sendNext = async (conversation: number, queue: Queue, next: Outgoing, signal: AbortSignal): Promise<void> => {
    const { client_id } = next
    const way = queue.onItsWay = { client_id, dropped: false }
    if (next.state === 'waiting') change(queue, client_id, { state: 'sending' })
    try {
      const message = await api.send(conversation, next, client_id, signal)
      queue.onItsWay = null
      answered.add(message.id)
      change(queue, client_id, { state: 'sent', error: null, message })
      promises.get(client_id)?.resolve(message)
    } catch (thrown) {
      const error = problemFrom(thrown)
      queue.onItsWay = null
      change(queue, client_id, { state: error.temporary ? 'waiting' : 'refused', error })
      if (way.dropped) forget(queue, client_id)
      // The next one must not overtake it, so the queue waits with it.
      if (error.temporary) throw error
      promises.get(client_id)?.reject(error)
    }
    promises.delete(client_id)
  }

  const queueOf = (conversation: number): Queue => {
    const known = queues.get(conversation)
    if (known) return known
    const underWay = () => queue.entries.find(({ state }) => state === 'sending' || state === 'waiting')
    const passes = openPasses(async (signal) => {
      for (let next = underWay(); next; next = underWay()) await sendNext(conversation, queue, next, signal)
    })
    const queue: Queue = { entries: [], passes, listeners: new Set(), onItsWay: null }
    queues.set(conversation, queue)
    return queue
  }

  return {
    answered,
    of: (conversation) => queueOf(conversation).entries,
    send(conversation, { content, attachment = null }, after) {
      const client_id = uuid()
      const answer = new Promise<Message>((resolve, reject) => promises.set(client_id, { resolve, reject }))
      // Whoever does not wait for the answer sees the refusal in the view; Node would end over a rejection nobody looks at.
      answer.catch(() => {})
      if (closed) promises.get(client_id)!.reject(new Problem('Closed'))
      else {
        const queue = queueOf(conversation)
        const createdAt = new Date().toISOString()
        const outgoing = {
          client_id,
          content,
          attachment,
          state: 'sending',
          error: null,
          message: null,
          createdAt,
          after,
        }
        write(queue, [...queue.entries, outgoing as Outgoing])
        queue.passes.run()
      }
      return answer
    },
    retry(conversation, clientId) {
      const queue = queueOf(conversation)
      const refused = queue.entries.find(({ client_id, state }) => client_id === clientId && state === 'refused')
      if (!refused || closed) return
      const others = queue.entries.filter((entry) => entry !== refused)
      write(queue, [...others, { ...refused, state: 'sending', error: null }])
      queue.passes.run()
    },
    drop(conversation, clientId) {
      const queue = queueOf(conversation)
      if (queue.onItsWay?.client_id === clientId) queue.onItsWay.dropped = true
      else if (queue.entries.some(({ client_id }) => client_id === clientId)) forget(queue, clientId)
    },
    watch(conversation, listener) {
      const queue = queueOf(conversation)
      queue.listeners.add(listener)
      return () => {
        queue.listeners.delete(listener)
        write(queue, queue.entries)
      }
    },
    hurry() {
      for (const { passes, entries } of queues.values()) if (entries.length) passes.hurry()
    },
    close() {
      closed = true
      for (const { passes, listeners } of queues.values()) {
        listeners.clear()
        passes.close()
      }
      for (const { reject } of promises.values()) reject(new Problem('Closed before it was answered'))
      promises.clear()
    },
  }
}
