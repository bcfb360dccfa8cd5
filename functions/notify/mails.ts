import { asService } from '../_shared/rpc.ts'
import { log } from '../_shared/log.ts'
import { settings } from '../_shared/settings.ts'
import { finish } from './outcome.ts'
import { describeFailure, type MailServer, openMailServer } from './smtp.ts'
import { unreadMail, type Unseen } from './templates/unread.ts'

interface Job {
  id: number
  key: string
  to: string
  name: string
  token: string
  conversations: Unseen[]
}

const domainOf = (from: string): string => /@([\w.-]+)>?\s*$/.exec(from)?.[1] ?? 'localhost'

const send = async (server: MailServer, { key, to, name, token, conversations }: Job): Promise<void> => {
  const from = settings.mailFrom
  const unsubscribe = `${settings.url}/functions/v1/users/unsubscribe?token=${token}`
  const mail = unreadMail(name, conversations, { app: settings.appUrl ?? null, unsubscribe })
  await server.send({ ...mail, from, to, unsubscribe, messageId: `<${key}@${domainOf(from)}>` })
}

/**
 * Sends the mails that are due, one after the other on one connection, each claimed right before it is sent. Returns
 * how many were sent. While the server cannot be reached nothing is claimed, so an outage makes no dead letters.
 */
export const drainMails = async (isTime: () => boolean): Promise<number> => {
  let server: MailServer
  try {
    server = await openMailServer(settings.smtpUrl!)
  } catch (error) {
    log('warn', 'The mail server was not reached', { reason: describeFailure(error) })
    return 0
  }
  let sent = 0
  try {
    while (isTime()) {
      const job: Job | null = JSON.parse(await asService`claim_mail()`)
      if (!job) break
      try {
        await send(server, job)
      } catch (error) {
        await finish('mail', [{ id: job.id, outcome: 'failed', reason: describeFailure(error) }])
        // The connection may be in the middle of something. The next run opens another.
        break
      }
      await finish('mail', [{ id: job.id, outcome: 'sent' }])
      sent++
    }
  } finally {
    server.close()
  }
  return sent
}
