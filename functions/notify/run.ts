import { asService } from '../_shared/rpc.ts'
import { settings, vapidKeys, webhookTarget } from '../_shared/settings.ts'
import { drainMails } from './mails.ts'
import { drainPushes } from './pushes.ts'
import { drainWebhooks } from './webhooks.ts'

/** Half of the 30 s for which the schedule waits for an answer. */
const runMilliseconds = 15_000
const planRows = 100

let isAdopted = false

const plan = async (isTime: () => boolean): Promise<number> => {
  let planned = 0
  const [push, mail] = [vapidKeys() !== null, settings.SMTP_URL !== undefined]
  while (isTime()) {
    const call = asService`plan_notifications(max_rows => ${planRows}, push => ${push}, mail => ${mail})`
    const rows = Number(await call)
    planned += rows
    if (rows < planRows) break
  }
  return planned
}

const prepare = async (isTime: () => boolean) => {
  const [seconds, webhooks] = [settings.NOTIFY_DELAY_SECONDS, webhookTarget() !== null]
  if (!isAdopted) await asService`adopt_outbox_settings(delay_seconds => ${seconds}, webhooks => ${webhooks})`
  isAdopted = true
  const planned = await plan(isTime)
  const due: ('push' | 'mail' | 'webhook')[] = JSON.parse(await asService`due_channels()`)
  return { planned, due }
}
let preparing: ReturnType<typeof prepare> | undefined

/** Plans and sends what is due. A run may begin while another waits for silent receivers, and sends the rest. */
export const notify = async () => {
  const end = performance.now() + runMilliseconds
  const isTime = () => performance.now() < end
  const { planned, due } = await (preparing ??= prepare(isTime).finally(() => preparing = undefined))
  // A channel that fails by itself, as by a lost connection, leaves the others alone.
  const drained = await Promise.allSettled([
    due.includes('push') && vapidKeys() ? drainPushes(isTime) : 0,
    due.includes('mail') && settings.SMTP_URL ? drainMails(isTime) : 0,
    due.includes('webhook') && webhookTarget() ? drainWebhooks(isTime) : 0,
  ])
  const [pushes = 0, mails = 0, webhooks = 0] = drained.map((one) => {
    if (one.status === 'rejected') throw one.reason
    return one.value
  })
  return { planned, pushes, mails, webhooks }
}
