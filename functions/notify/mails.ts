import Mailer from 'nodemailer/lib/mailer'
import SMTPPool from 'nodemailer/lib/smtp-pool'
import { asService } from '../_shared/rpc.ts'
import { log, type RequestIds } from '../_shared/log.ts'
import { project, settings } from '../_shared/settings.ts'
import { openChannel } from './channel.ts'
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

// In milliseconds: of each step, and of a mail, less than the 15 s after which another worker may claim it.
const timeouts = { connectionTimeout: 6000, greetingTimeout: 6000, socketTimeout: 6000, dnsTimeout: 6000 }
const mailTimeout = 14_000

const mailOf = ({ key, to, name, token, time_zone, conversations, request }: Job) => {
  const from = settings.MAIL_FROM
  const [, domain = 'localhost'] = /@([\w.-]+)>?\s*$/.exec(from) ?? []
  const unsubscribe = `${project.url}/functions/v1/users/unsubscribe?token=${token}`
  return {
    ...unreadMail(name, conversations, { app: settings.APP_URL ?? null, unsubscribe }, time_zone ?? 'UTC'),
    ...{ from, to, messageId: `<${key}@${domain}>` },
    // RFC 8058: mail programs show a button that needs no log-in.
    headers: {
      // Who wrote may have chosen the words of the other id.
      ...request?.traceparent && { traceparent: request.traceparent },
      'List-Unsubscribe': `<${unsubscribe}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      'Auto-Submitted': 'auto-generated',
    },
    signal: AbortSignal.timeout(mailTimeout),
  }
}

type Failure = { code?: string; name: string; command?: string; responseCode?: number }

/** What went wrong, without the server's words, which may name the recipient. */
const describe = ({ code, name, responseCode }: Failure): string =>
  [code ?? name, responseCode].filter(Boolean).join(' ')

const drain = async (isTime: () => boolean): Promise<number> => {
  const pool = new SMTPPool({ url: settings.SMTP_URL!, maxConnections: 4, ...timeouts })
  const server = new Mailer(pool, { disableFileAccess: true, disableUrlAccess: true })
  // No mail is claimed for a server that cannot be reached, or is not any more.
  let isReached = await pool.verify().catch((error) => {
    log('warn', 'The mail server was not reached', { reason: describe(error) })
    return false
  })
  const sendDue = openChannel<Job>({
    name: 'mail',
    total: 4,
    // The domain of the address.
    each: [{ bound: 2 }],
    async claim(_, busy) {
      const job = isReached ? await asService`claim_mail(${busy})` : 'null'
      return job === 'null' ? '[]' : `[${job}]`
    },
    async send(job) {
      const { id } = job
      try {
        await server.sendMail(mailOf(job))
        return { id, outcome: 'sent' }
      } catch (error) {
        const failure = error as Failure
        const { code, command, responseCode = 0 } = failure
        // Any other mail may pass after the server has refused this one, or it could not be built.
        isReached &&= ['', 'EENVELOPE', 'EMESSAGE'].includes(code ?? '') && responseCode !== 421
        const isRefused = command === 'RCPT TO' && responseCode >= 500
        return { id, outcome: isRefused ? 'refused' : 'failed', reason: describe(failure) }
      }
    },
  })
  return await sendDue(isTime).finally(() => server.close())
}

let draining: Promise<number> | undefined

/** Sends what is due. While the server is not reached nothing is claimed, so that an outage makes no dead letters. */
export const drainMails = (isTime: () => boolean): Promise<number> =>
  draining ??= drain(isTime).finally(() => draining = undefined)
