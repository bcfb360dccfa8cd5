import { asService } from '../_shared/rpc.ts'
import { log, type RequestIds } from '../_shared/log.ts'
import { project, settings } from '../_shared/settings.ts'
import { openChannel, type Outcome } from './channel.ts'
import { describeFailure, isRefusal, type MailServer, openMailServer } from './smtp.ts'
import { unreadMail, type Unseen } from './templates/unread.ts'

interface Job {
  id: number
  receivers: string[]
  key: string
  to: string
  name: string
  token: string
  /** Of the quiet hours; null without them. */
  time_zone: string | null
  conversations: Unseen[]
  request: RequestIds | null
}

const domainOf = (from: string): string => /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'

const sendOn = async (server: MailServer, job: Job): Promise<void> => {
  const { key, to, name, token, time_zone, conversations, request } = job
  const from = settings.MAIL_FROM
  const unsubscribe = `${project.url}/functions/v1/users/unsubscribe?token=${token}`
  const mail = unreadMail(name, conversations, { app: settings.APP_URL ?? null, unsubscribe }, time_zone ?? 'UTC')
  await server.send({ ...mail, from, to, unsubscribe, request, messageId: `<${key}@${domainOf(from)}>` })
}

/** Connections that are free, and whether another may be opened: after a lost one not in the same run. */
interface Pool {
  free: MailServer[]
  isBroken: boolean
}

const openConnection = async (pool: Pool): Promise<void> => {
  try {
    pool.free.push(await openMailServer(settings.SMTP_URL!))
  } catch (error) {
    pool.isBroken = true
    log('warn', 'The mail server was not reached', { reason: describeFailure(error) })
  }
}

const deliver = async (pool: Pool, job: Job): Promise<Outcome> => {
  const { id } = job
  const server = pool.free.pop()!
  try {
    await sendOn(server, job)
    pool.free.push(server)
    return { id, outcome: 'sent' }
  } catch (error) {
    // Any other mail may pass after this one was refused.
    if (await server.reset()) pool.free.push(server)
    else {
      server.close()
      pool.isBroken = true
    }
    return { id, outcome: isRefusal(error) ? 'refused' : 'failed', reason: describeFailure(error) }
  }
}

const drain = async (isTime: () => boolean): Promise<number> => {
  const pool: Pool = { free: [], isBroken: false }
  const sendDue = openChannel<Job>({
    name: 'mail',
    total: 4,
    // The domain of the address.
    each: [{ bound: 2 }],
    async claim(_, busy) {
      if (pool.free.length === 0 && !pool.isBroken) await openConnection(pool)
      if (pool.free.length === 0) return '[]'
      const job = await asService`claim_mail(${busy})`
      return job === 'null' ? '[]' : `[${job}]`
    },
    send: (job) => deliver(pool, job),
  })
  try {
    return await sendDue(isTime)
  } finally {
    for (const server of pool.free) server.close()
  }
}

let draining: Promise<number> | undefined

/**
 * Sends the mails that are due, on up to four connections, each mail claimed right before it is sent. Returns how many
 * were sent. While the server cannot be reached nothing is claimed, so an outage makes no dead letters.
 */
export const drainMails = (isTime: () => boolean): Promise<number> =>
  draining ??= drain(isTime).finally(() => draining = undefined)
