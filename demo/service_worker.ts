// Shows pushes as notifications, also while no page is open, and opens the page without a network.
import { outcomes } from '../functions/notify/templates/outcomes.ts'

/** What of a service worker is used here; the types of browsers' pages do not include it. */
interface Worker {
  registration: ServiceWorkerRegistration
  clients: { openWindow: (url: string) => Promise<unknown> }
  addEventListener: (type: string, listener: (event: WorkerEvent) => void) => void
}

interface WorkerEvent extends Event {
  waitUntil: (work: Promise<unknown>) => void
  request: Request
  respondWith: (response: Promise<Response>) => void
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

/** The files of the page. The HTML is the same at each of its addresses, and says which versions it wants. */
const names = ['main.js', 'style.css', 'arriving.js', 'icon.svg', 'config.json']
const files = ['/demo', ...names.map((name) => `/demo/${name}`)]
const nameOf = ({ method, mode, url }: Request): string | undefined => {
  const { origin, pathname } = new URL(url)
  if (method !== 'GET' || origin !== location.origin) return undefined
  return mode === 'navigate' && !pathname.includes('.') ? '/demo' : files.find((name) => name === pathname)
}

worker.addEventListener('install', (event) => {
  event.waitUntil(caches.open('demo').then((cache) => cache.addAll(files)))
})

// From the network first, so that nothing is older than the service; what was last seen is for whoever has none.
worker.addEventListener('fetch', (event) => {
  const name = nameOf(event.request)
  if (!name) return
  event.respondWith((async () => {
    const cache = await caches.open('demo')
    try {
      const response = await fetch(event.request)
      if (response.ok) event.waitUntil(cache.put(name, response.clone()))
      return response
    } catch (error) {
      const kept = await cache.match(name)
      if (!kept) throw error
      return kept
    }
  })())
})

worker.addEventListener('push', (event) => {
  const push = event.data?.json()
  if (!push) return
  // The tag replaces an earlier notification of this conversation.
  const id = push.conversation_id
  const options = { body: describe(push), tag: `conversation-${id}`, icon: '/demo/icon.svg', data: `/demo/c/${id}` }
  event.waitUntil(worker.registration.showNotification(push.name, options))
})

worker.addEventListener('notificationclick', (event) => {
  if (!event.notification) return
  event.notification.close()
  event.waitUntil(worker.clients.openWindow(event.notification.data))
})
