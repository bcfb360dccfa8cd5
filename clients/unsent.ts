import { ServiceError } from './errors.ts'
import { withLock } from './lock.ts'
import { type KeyValueStorage, storageTimeout, withTimeout } from './storage.ts'
import type { Attachment, Message } from './types.ts'

/** The part of a ServiceError that can be stored. */
export type Refusal = Pick<ServiceError, 'message' | 'status' | 'body'>

/** A message that the service has not accepted yet. */
export interface UnsentMessage {
  conversation: number
  /** The service answers a repeated client_id with the first answer, so sending it again is safe. */
  client_id: string
  content: string
  attachment: Attachment | null
  createdAt: string
  /** The id of the newest message shown when this one was written, or 0. */
  after: number
  /** Why the service refused it, if it did. */
  refused: Refusal | null
}

/** What a user has written and marked, and the service has not confirmed. */
export interface Unsent {
  /** In the order in which they are sent. */
  messages: readonly UnsentMessage[]
  /** Up to which message each conversation is to be marked as read. */
  readMarkers: Readonly<Record<number, number>>
  /**
   * What is being written, and the client_id with which exactly this text will be sent. A draft that outlives its
   * message, because the storage failed when it was sent, then makes no second message.
   */
  drafts: Readonly<Record<number, { text: string; client_id: string }>>
}

/** Applying a change twice must equal applying it once: one that timed out may have been saved. */
type Change = (unsent: Unsent) => Unsent

/** How a send ended, told to the other pages of this user. */
export interface Outcome {
  client_id: string
  message: Message | null
  refused: Refusal | null
}

const empty: Unsent = { messages: [], readMarkers: {}, drafts: {} }

// Raised when the shape of what is stored changes. What an older version has stored is then ignored.
const version = 1

const parse = (stored: unknown): Unsent => {
  const { version: storedVersion, unsent } = (stored ?? {}) as { version?: number; unsent?: Unsent }
  return storedVersion === version && unsent ? unsent : empty
}
const isEmpty = ({ messages, readMarkers, drafts }: Unsent): boolean =>
  messages.length + Object.keys(readMarkers).length + Object.keys(drafts).length === 0
const serialize = (unsent: Unsent) => isEmpty(unsent) ? undefined : { version, unsent }

// A little longer than the timeout of a request.
const longestLockWait = 20_000

/**
 * Keeps what is unsent in the storage, under a key of the user's own. `owner` resolves with the id in Auth of the user
 * whose inbox this is; until then, and while the storage fails, everything is in memory.
 */
export const openUnsentStore = (storage: KeyValueStorage | null, owner: Promise<string>) => {
  const key = owner.then((id) => `voyagers-and-locals:unsent:${id}`)
  const listeners = new Set<(outcome: Outcome | null) => void>()
  let current = empty
  let unsaved: Change[] = []
  let isDurable = false
  let closed = false
  let isCleared = false
  let channel: BroadcastChannel | null = null
  let lastRun: Promise<void> = Promise.resolve()
  // Each has a key of its own, because all else is written with every keystroke.
  const files = new Map<string, { file: Blob; isTried: boolean }>()
  const deleteFiles = async (clientIds: string[]) => {
    for (const id of clientIds) files.delete(id)
    await lastRun
    try {
      for (const id of clientIds) await storage?.delete(`${await key}:${id}`)
    } catch {
      // It is forbidden or broken, so nothing more can be done.
    }
  }

  const notify = (outcome: Outcome | null = null) => {
    for (const listener of listeners) listener(outcome)
  }
  const setCurrent = (unsent: Unsent) => {
    current = unsent
    notify()
  }
  const applyAll = (changes: Change[], unsent: Unsent): Unsent =>
    changes.reduce((before, change) => change(before), unsent)

  /** Replaces the stored value; two pages never lose each other's change. */
  const update = async (storage: KeyValueStorage, name: string, change: Change): Promise<Unsent> => {
    let saved = empty
    // A storage that hangs may go on after the user has signed out.
    const replace = (stored: unknown) => isCleared ? undefined : serialize(saved = change(parse(stored)))
    if (storage.update) await storage.update(name, replace)
    else {
      await withLock(name, storageTimeout, async () => {
        const value = replace(await storage.get(name))
        await (value ? storage.set(name, value) : storage.delete(name))
      })
    }
    return saved
  }

  const save = async (): Promise<void> => {
    if (!storage) return
    const name = await key
    const changes = unsaved
    try {
      for (const [id, kept] of files) {
        if (kept.isTried) continue
        kept.isTried = true
        // One that is too large for the storage must not keep the rest from it. After a reload its message is refused.
        await withTimeout(Promise.resolve(storage.set(`${name}:${id}`, kept.file))).catch(() => {})
      }
      const saved = changes.length
        ? await withTimeout(update(storage, name, (stored) => applyAll(changes, stored)))
        : parse(await withTimeout(Promise.resolve(storage.get(name))))
      if (closed) return
      unsaved = unsaved.filter((change) => !changes.includes(change))
      isDurable = true
      setCurrent(applyAll(unsaved, saved))
      if (changes.length) channel?.postMessage(null)
    } catch {
      // Full, forbidden or hanging. What it holds already stays, and what changes is in memory.
      isDurable = false
      notify()
    }
  }
  let nextRun: Promise<void> | null = null
  /** One at a time. Without a storage nothing waits. */
  const run = (): Promise<void> => {
    if (!storage) return lastRun
    return nextRun ??= lastRun = lastRun.then(() => {
      nextRun = null
      return save()
    })
  }

  if (storage && typeof BroadcastChannel !== 'undefined') {
    key.then((name) => {
      if (closed) return
      const opened: BroadcastChannel & { unref?: () => void } = new BroadcastChannel(name)
      opened.onmessage = ({ data }: MessageEvent<Outcome | null>) => data ? notify(data) : void run()
      // In Node it would keep the process alive.
      opened.unref?.()
      channel = opened
    })
  }
  run()

  return {
    /** With all changes of this page, saved or not. */
    get current() {
      return current
    },
    /** Whether `current` survives closing the page. */
    get isDurable() {
      return isDurable
    },
    /** Applies the change at once. Resolves when it is saved, or could not be; it is then saved with the next one. */
    change(change: Change): Promise<void> {
      if (closed) return Promise.resolve()
      if (storage) unsaved = [...unsaved, change]
      setCurrent(change(current))
      return run()
    },
    /** Reads what other pages have saved, after saving the changes of this one. Never rejects. */
    reload: run,
    /** Runs a task while no other page of this user runs one for this conversation. */
    async exclusively<Result>(conversation: number, task: () => Promise<Result>): Promise<Result> {
      await lastRun
      return isDurable ? withLock(`${await key}:${conversation}`, longestLockWait, task) : task()
    },
    announce: (outcome: Outcome) => channel?.postMessage(outcome),
    /** Keeps the file of a message that `change` adds next, until `dropFile`, which is called once it is uploaded. */
    keepFile: (clientId: string, file: Blob) => void files.set(clientId, { file, isTried: false }),
    async fileOf(clientId: string): Promise<Blob | null> {
      const kept = files.get(clientId)
      if (kept || !storage) return kept?.file ?? null
      const stored = await withTimeout(Promise.resolve(storage.get(`${await key}:${clientId}`))) ?? null
      if (stored !== null && !(stored instanceof Blob)) throw new ServiceError('This device has not kept the file')
      return stored
    },
    dropFile: (clientId: string) => deleteFiles([clientId]),
    /** Calls the listener after each change, with the outcome if another page has sent a message. */
    subscribe(listener: (outcome: Outcome | null) => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    /** Deletes everything of this user, and ignores all later changes. Never rejects. */
    async clear() {
      const known = current.messages
      unsaved = []
      current = empty
      closed = isCleared = true
      await lastRun
      try {
        // Also what this page has not read yet.
        const stored = await withTimeout(Promise.resolve(storage?.get(await key))).catch(() => null)
        await deleteFiles([...known, ...parse(stored).messages].map(({ client_id }) => client_id))
        await storage?.delete(await key)
      } catch {
        // It is forbidden or broken, so nothing more can be done.
      }
    },
    close() {
      closed = true
      listeners.clear()
      channel?.close()
    },
  }
}
export type UnsentStore = ReturnType<typeof openUnsentStore>
