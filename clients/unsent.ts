import { ServiceError } from './errors.ts'
import type { TimedStorage } from './storage.ts'
import { createStore } from './store.ts'
import { onClosed } from './timers.ts'
import type { Message } from './types.ts'
import type { UnsentMessage } from './views.ts'

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

/** A message that was sent, told to the other pages of this user. */
export type Sent = { client_id: string; message: Message }

const empty: Unsent = { messages: [], readMarkers: {}, drafts: {} }

// Raised when the shape of what is stored changes. What an older version has stored is then ignored.
const version = 1

const valid = <Value>(values: Readonly<Record<number, Value>>, isValid: (value: Value) => boolean) =>
  Object.fromEntries(Object.entries(values ?? {}).filter(([, value]) => isValid(value)))
const isText = (value: unknown): boolean => typeof value === 'string'
const isMessage = (one: UnsentMessage | null): boolean =>
  Number.isInteger(one?.conversation) &&
  [one?.client_id, one?.content, one?.attachment ? one.attachment.url : ''].every(isText)

/** Of what is damaged, the rest counts. */
const parse = (stored: unknown): Unsent => {
  const { version: storedVersion, unsent } = (stored ?? {}) as { version?: number; unsent?: Unsent }
  if (storedVersion !== version || !unsent) return empty
  return {
    messages: Object.values(valid(unsent.messages, isMessage)),
    readMarkers: valid(unsent.readMarkers, Number.isInteger),
    drafts: valid(unsent.drafts, (draft) => [draft?.text, draft?.client_id].every(isText)),
  }
}
const serialize = (unsent: Unsent) =>
  Object.values(unsent).some((part) => Object.keys(part).length > 0) ? { version, unsent } : undefined
const applyAll = (changes: Change[], unsent: Unsent): Unsent =>
  changes.reduce((before, change) => change(before), unsent)

/** Keeps what is unsent under a key of the user's own, or in memory until `owner` is known and while storing fails. */
export const openUnsentStore = (closed: AbortSignal, storage: TimedStorage | null, owner: Promise<string>) => {
  const key = owner.then((id) => `voyagers-and-locals:unsent:${id}`)
  // With all changes of this page, saved or not; and whether that survives closing the page.
  const store = createStore({ current: empty, isDurable: false })
  // Of this page, saved or not; null: not kept any more. Each has a key of its own, because all else is written with
  // every keystroke.
  const files = new Map<string, Blob | null>()
  const fileKey = async (clientId: string) => `${await key}:${clientId}`
  let unsaved: Change[] = []
  let filesSaved: Promise<unknown> = Promise.resolve()
  let isCleared = false
  let onSent: (sent: Sent) => void = () => {}
  let channel: BroadcastChannel & { unref?: () => void } | null = null
  key.then((name) => {
    if (closed.aborted || !storage || typeof BroadcastChannel === 'undefined') return
    channel = new BroadcastChannel(name)
    // 1.2 also told of what it had saved.
    channel.onmessage = ({ data }: MessageEvent<Sent | null>) => data && onSent(data)
    // In Node it would keep the process alive.
    channel.unref?.()
    onClosed(closed, () => channel?.close())
  })

  /** Never rejects: where the storage is forbidden or broken, nothing more can be done. */
  const deleteFile = async (clientId: string) => {
    files.set(clientId, null)
    await storage?.delete(await fileKey(clientId)).catch(() => {})
  }
  const save = async () => {
    if (!storage) return
    const name = await key
    const changes = unsaved
    await filesSaved
    let saved = empty
    const replace = (stored: unknown) => isCleared ? undefined : serialize(saved = applyAll(changes, parse(stored)))
    try {
      // Two pages never lose each other's change.
      if (changes.length) await storage.update(name, replace)
      else saved = parse(await storage.get(name))
      if (closed.aborted) return
      unsaved = unsaved.filter((change) => !changes.includes(change))
      store.set({ current: applyAll(unsaved, saved), isDurable: true })
    } catch {
      // Full, forbidden or hanging. What it holds already stays, and what changes is in memory.
      store.set({ isDurable: false })
    }
  }
  let lastRun: Promise<void> = Promise.resolve()
  let nextRun: Promise<void> | null = null
  /** One at a time. */
  const run = () =>
    nextRun ??= lastRun = lastRun.then(() => {
      nextRun = null
      return save()
    })
  run()

  return {
    current: () => store.view.current,
    isDurable: () => store.view.isDurable,
    subscribe: store.subscribe,
    /** Applies the change at once. Resolves when it is saved, or could not be; it is then saved with the next one. */
    change(change: Change, clientId = '', file: Blob | null = null): Promise<void> {
      if (closed.aborted) return Promise.resolve()
      if (file) {
        // Saved before its message. One that is too large must not keep the rest out; after a reload it is refused.
        files.set(clientId, file)
        const saveFile = async () => storage?.update(await fileKey(clientId), () => files.get(clientId) ?? undefined)
        filesSaved = filesSaved.then(saveFile).catch(() => {})
      }
      if (storage) unsaved = [...unsaved, change]
      store.set({ current: change(store.view.current) })
      return run()
    },
    /** Reads what other pages have saved, after saving the changes of this one. Never rejects. */
    reload: run,
    announce: (sent: Sent) => channel?.postMessage(sent),
    hearSent: (listener: (sent: Sent) => void) => void (onSent = listener),
    async fileOf(clientId: string): Promise<Blob | null> {
      let file: unknown = files.get(clientId)
      if (file === undefined) file = await storage?.get(await fileKey(clientId)) ?? null
      if (file !== null && !(file instanceof Blob)) throw new ServiceError('This device has not kept the file')
      return file
    },
    dropFile: deleteFile,
    /** Deletes everything of this user, once this is closed. Never rejects. */
    async clear() {
      const known = store.view.current.messages
      isCleared = true
      await lastRun
      // Also what this page has not read yet.
      const stored = await storage?.get(await key).catch(() => null)
      await Promise.all([...known, ...parse(stored).messages].map(({ client_id }) => deleteFile(client_id)))
      await storage?.delete(await key).catch(() => {})
    },
  }
}
export type UnsentStore = ReturnType<typeof openUnsentStore>
