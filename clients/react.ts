'use client'

import { useEffect, useState, useSyncExternalStore } from 'react'
import { type Conversation, type ConversationView, type Inbox, type InboxView, openInbox } from './inbox.ts'
import type { Options } from './inbox.ts'
import { watchUser } from './session.ts'
import type { Store } from './store.ts'
import type { Client } from './types.ts'

const neverChanges = () => () => {}

const useView = <View extends object>(source: Pick<Store<View>, 'view' | 'subscribe'> | null): View | null => {
  const view = () => source?.view ?? null
  return useSyncExternalStore(source?.subscribe ?? neverChanges, view, view)
}

/**
 * The inbox of whoever is signed in: opens when a user signs in, closes when they sign out or the component unmounts.
 * Both are null while nobody is signed in. A client has one inbox, so call this once, near the root. Only the options
 * of the first render count.
 */
export const useInbox = (supabase: Client, options?: Options): { inbox: Inbox | null; view: InboxView | null } => {
  const [inbox, setInbox] = useState<Inbox | null>(null)
  useEffect(() => {
    let opened: Inbox | null = null
    let owner: string | null = null
    let ended = false
    const setOwner = (user: string | null) => {
      if (ended || user === owner) return
      owner = user
      opened?.close()
      opened = user === null ? null : openInbox(supabase, options)
      setInbox(opened)
    }
    const stop = watchUser(supabase.auth, (user) => {
      // The inbox of a user who signs out must hear of it before it is closed here, to delete what it has stored.
      queueMicrotask(() => setOwner(user))
    })
    return () => {
      ended = true
      stop()
      opened?.close()
      setInbox(null)
    }
  }, [supabase])
  return { inbox, view: useView(inbox) }
}

/** A conversation, open while the component is mounted. Both are null before that, and while an argument is null. */
export const useConversation = (
  inbox: Inbox | null,
  id: number | null,
): { conversation: Conversation | null; view: ConversationView | null } => {
  const [opened, setOpened] = useState<{ inbox: Inbox; conversation: Conversation } | null>(null)
  useEffect(() => {
    let conversation: Conversation | null = null
    try {
      if (inbox && id !== null) conversation = inbox.open(id)
    } catch {
      // The user has just signed out, and the inbox has closed.
    }
    setOpened(inbox && conversation && { inbox, conversation })
    return () => conversation?.close()
  }, [inbox, id])
  // For the render in which the arguments have changed, the other conversation is still open.
  const isCurrent = opened?.inbox === inbox && opened?.conversation.id === id
  const conversation = isCurrent && opened ? opened.conversation : null
  return { conversation, view: useView(conversation) }
}
