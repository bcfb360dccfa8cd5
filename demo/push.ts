import type { SupabaseClient } from '@supabase/supabase-js'
import { request } from './request.ts'

/** Whether this browser can be told of messages while the page is closed. */
export const canPush = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

interface TrustedTypes {
  createPolicy: (name: string, rules: { createScriptURL: (url: string) => string }) => {
    createScriptURL: (url: string) => string
  }
}

/** The page's policy wants the address of a script to be marked as our own. */
const scriptUrl = (): string => {
  const { trustedTypes } = globalThis as unknown as { trustedTypes?: TrustedTypes }
  const url = '/demo/service_worker.js'
  return trustedTypes?.createPolicy('service-worker', { createScriptURL: () => url }).createScriptURL(url) ?? url
}

let registering: Promise<ServiceWorkerRegistration> | null = null

const register = (): Promise<ServiceWorkerRegistration> =>
  registering ??= (async () => {
    const registration = await navigator.serviceWorker.register(scriptUrl())
    const worker = registration.installing ?? registration.waiting
    if (worker && worker.state !== 'activated') {
      await new Promise<void>((resolve) =>
        worker.addEventListener('statechange', () => worker.state === 'activated' && resolve())
      )
    }
    return registration
  })()

/** The id of this browser, the same for whoever is logged in. */
const deviceId = (): string => {
  const id = localStorage.getItem('demo-device') ?? crypto.randomUUID()
  localStorage.setItem('demo-device', id)
  return id
}

/** Lets the service push to this browser, for the user who is logged in with this client. */
export const subscribe = async (supabase: SupabaseClient): Promise<void> => {
  if (await Notification.requestPermission() !== 'granted') throw new Error('The browser allows no notifications here')
  const { public_key: applicationServerKey } = await request<{ public_key: string }>(supabase, 'users/push-key')
  const { pushManager } = await register()
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })
  const { endpoint, keys } = subscription.toJSON()
  await request(supabase, `users/me/devices/${deviceId()}`, { method: 'PUT', body: { endpoint, keys } })
}

/** Before log-out: whoever logs in next must not see notifications for this user. */
export const unsubscribe = async (supabase: SupabaseClient): Promise<void> => {
  if (!localStorage.getItem('demo-device')) return
  try {
    await request(supabase, `users/me/devices/${deviceId()}`, { method: 'DELETE' })
  } finally {
    // Where the service cannot be reached it keeps the device, which then receives nothing.
    const registration = await navigator.serviceWorker.getRegistration('/demo/')
    const subscription = await registration?.pushManager.getSubscription()
    await subscription?.unsubscribe()
  }
}
