import { type ApiClient, dataOf } from '../clients/api_client.ts'

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

/** For `/demo` and all below it. */
const scope = '/demo'
export const register = (): Promise<ServiceWorkerRegistration> =>
  registering ??= (async () => {
    const registration = await navigator.serviceWorker.register(scriptUrl(), { scope })
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
export const subscribe = async (api: ApiClient): Promise<void> => {
  if (await Notification.requestPermission() !== 'granted') throw new Error('The browser allows no notifications here')
  const { public_key: applicationServerKey } = await dataOf(api.GET('/users/push-key'))
  const { pushManager } = await register()
  // A browser refuses a second one for another key, as after a rotation.
  await (await pushManager.getSubscription())?.unsubscribe()
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey }).catch(() => {
    // Each browser says it in its own words.
    throw new Error('The browser could not reach its push service. Please try again later.')
  })
  const { endpoint, keys } = subscription.toJSON()
  const body = { endpoint: endpoint!, keys: { p256dh: keys!.p256dh!, auth: keys!.auth! } }
  await dataOf(api.PUT('/users/me/devices/{device}', { params: { path: { device: deviceId() } }, body }))
}

/** Before log-out: whoever logs in next must not see notifications for this user. */
export const unsubscribe = async (api: ApiClient): Promise<void> => {
  if (!localStorage.getItem('demo-device')) return
  try {
    await dataOf(api.DELETE('/users/me/devices/{device}', { params: { path: { device: deviceId() } } }))
  } finally {
    // Where the service cannot be reached it keeps the device, which then receives nothing.
    const registration = await navigator.serviceWorker.getRegistration(scope)
    const subscription = await registration?.pushManager.getSubscription()
    await subscription?.unsubscribe()
  }
}
