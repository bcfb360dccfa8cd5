import { asService } from '../_shared/rpc.ts'
import { log, type RequestIds } from '../_shared/log.ts'
import { project, settings } from '../_shared/settings.ts'
import { openChannel } from './channel.ts'
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

const mailOf = ({ key, to, name, token, time_zone, conversations, request }: Job) => {
  const from = settings.MAIL_FROM
  const [, domain = 'localhost'] = /@([\w.-]+)>?\s*$/.exec(from) ?? []
  const unsubscribe = `${project.url}/functions/v1/users/unsubscribe?token=${token}`
  const mail = unreadMail(name, conversations, { app: settings.APP_URL ?? null, unsubscribe }, time_zone ?? 'UTC')
  return { ...mail, from, to, unsubscribe, request, messageId: `<${key}@${domain}>` }
}

const drain = async (isTime: () => boolean): Promise<number> => {
  const free: MailServer[] = []
  // After a lost connection none is opened in the same run.
  let isBroken = false

  const connect = async (): Promise<void> => {
    try {
      free.push(await openMailServer(settings.SMTP_URL!))
    } catch (error) {
      isBroken = true
      log('warn', 'The mail server was not reached', { reason: describeFailure(error) })
    }
  }

  const sendDue = openChannel<Job>({
    name: 'mail',
    total: 4,
    // The domain of the address.
    each: [{ bound: 2 }],
    async claim(_, busy) {
      if (free.length === 0 && !isBroken) await connect()
      if (free.length === 0) return '[]'
      const job = await asService`claim_mail(${busy})`
      return job === 'null' ? '[]' : `[${job}]`
    },
    async send(job) {
      const { id } = job
      const server = free.pop()!
      try {
        await server.send(mailOf(job))
        free.push(server)
        return { id, outcome: 'sent' }
      } catch (error) {
        // Any other mail may pass after this one was refused.
        if (await server.reset()) free.push(server)
        else {
          server.close()
          isBroken = true
        }
        return { id, outcome: isRefusal(error) ? 'refused' : 'failed', reason: describeFailure(error) }
      }
    },
  })
  try {
    return await sendDue(isTime)
  } finally {
    for (const server of free) server.close()
  }
}

let draining: Promise<number> | undefined

/** Sends what is due. While the server is not reached nothing is claimed, so that an outage makes no dead letters. */
export const drainMails = (isTime: () => boolean): Promise<number> =>
  draining ??= drain(isTime).finally(() => draining = undefined)
