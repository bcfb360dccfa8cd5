import MailComposer from 'nodemailer/lib/mail-composer'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { RequestIds } from '../_shared/log.ts'
import type { Mail } from './templates/unread.ts'

// In milliseconds, for each step; together less than the 15 s after which another worker may claim the mail.
const timeouts = { connectionTimeout: 6000, greetingTimeout: 6000, socketTimeout: 6000, dnsTimeout: 6000 }

type Outgoing = Mail & Record<'from' | 'to' | 'messageId' | 'unsubscribe', string> & { request: RequestIds | null }

export type MailServer = Awaited<ReturnType<typeof openMailServer>>

/** What went wrong, without the server's words, which may name the recipient. */
export const describeFailure = (error: unknown): string => {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  return [code ?? (error as Error).name, responseCode].filter(Boolean).join(' ')
}

/** Whether the server has said for good that it takes no mail for this address. */
export const isRefusal = (error: unknown): boolean => {
  const { command, responseCode = 0 } = error as { command?: string; responseCode?: number }
  return command === 'RCPT TO' && responseCode >= 500
}

/** Connects and logs in, so that no mail is claimed for a server that cannot be reached. */
export const openMailServer = async (url: string) => {
  const options = parseConnectionUrl(url)
  const connection = new SMTPConnection({ ...options, ...timeouts })
  /** Errors of the connection are events, which reject what is under way. */
  const settle = (start: (done: (error?: Error | null) => void) => void): Promise<void> =>
    new Promise((resolve, reject) => {
      const onEnd = () => reject(Object.assign(new Error('The connection was closed'), { code: 'ECONNECTION' }))
      connection.once('error', reject).once('end', onEnd)
      start((error) => {
        connection.off('error', reject).off('end', onEnd)
        if (error) reject(error)
        else resolve()
      })
    })
  connection.on('error', () => {})
  try {
    await settle((done) => connection.connect(done))
    if (options.auth) await settle((done) => connection.login(options.auth as never, done))
  } catch (error) {
    connection.close()
    throw error
  }
  return {
    send: async ({ unsubscribe, request, ...mail }: Outgoing): Promise<void> => {
      const message = new MailComposer({
        ...mail,
        // RFC 8058: mail programs show a button that needs no log-in.
        headers: {
          // Who wrote may have chosen the words of the other id.
          ...request?.traceparent && { traceparent: request.traceparent },
          'List-Unsubscribe': `<${unsubscribe}>`,
          'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          'Auto-Submitted': 'auto-generated',
        },
        disableFileAccess: true,
        disableUrlAccess: true,
      }).compile()
      const [raw, envelope] = [await message.build(), message.getEnvelope()]
      await settle((done) => connection.send(envelope as never, raw, done))
    },
    /** Ends the mail that has failed. Returns whether the connection can take another one. */
    reset: () => settle((done) => connection.reset(done)).then(() => true, () => false),
    close: () => connection.quit(),
  }
}
