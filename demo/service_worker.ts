// Shows pushes as notifications, also while no page is open.
import { outcomes } from '../functions/notify/templates/outcomes.ts'

/** What of a service worker is used here; the types of browsers' pages do not include it. */
interface Worker {
  registration: {
    showNotification: (
      title: string,
      options: { body: string; tag: string; icon: string; data: string },
    ) => Promise<void>
  }
  clients: { openWindow: (url: string) => Promise<unknown> }
  addEventListener: (type: 'push' | 'notificationclick', listener: (event: WorkerEvent) => void) => void
}

interface WorkerEvent extends Event {
  waitUntil: (work: Promise<unknown>) => void
  data?: { json: () => Push } | null
  notification?: { close: () => void; data: string }
}

interface Push {
  conversation_id: number
  name: string
  unread: number
  status: keyof typeof outcomes | null
  title: string | null
  date: string | null
  text: string | null
}

const worker = self as unknown as Worker

const moment = new Intl.DateTimeFormat([], { dateStyle: 'medium', timeStyle: 'short' })

const describe = ({ unread, status, title, date, text }: Push): string => {
  if (status) return `${title ? `“${title}”` : 'A reservation'}, ${moment.format(new Date(date!))}, ${outcomes[status]}`
  return text ?? (unread === 1 ? '1 unread message' : `${unread} unread messages`)
}

worker.addEventListener('push', (event) => {
  const push = event.data?.json()
  if (!push) return
  // The tag replaces an earlier notification of this conversation.
  const options = {
    body: describe(push),
    tag: `conversation-${push.conversation_id}`,
    icon: '/demo/icon.svg',
    data: `/demo/c/${push.conversation_id}`,
  }
  event.waitUntil(worker.registration.showNotification(push.name, options))
})

worker.addEventListener('notificationclick', (event) => {
  if (!event.notification) return
  event.notification.close()
  event.waitUntil(worker.clients.openWindow(event.notification.data))
})
