import { Readable } from 'node:stream'
import { Hono } from 'hono'
import { html } from 'hono/html'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { pageHeaders } from './page_headers.ts'

interface Mail {
  id: number
  receivedAt: Date
  to: string
  subject: string
  text: string
  html?: string | undefined
  headers?: { key: string; value: string }[]
}

const moment = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })
const kept = 200
const megabyte = 1_048_576

type Html = ReturnType<typeof html>

const page = (title: string, content: Html): Html =>
  html`
    <!doctype html>
    <html lang="en">
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width">
      <title>${title}</title>
      <style>
    :root { background: light-dark(#fff, #141615); color-scheme: light dark; }
    body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; }
    a { color: light-dark(#0f6a62, #6cc5b9); }
    li { margin: 0.5em 0; }
    * { box-sizing: border-box; }
    iframe { background: #fff; border: 1px solid #888; border-radius: 8px; height: 24em; width: 100%; }
    pre { background: light-dark(#f0efea, #272b2a); overflow-wrap: anywhere; padding: 1em; white-space: pre-wrap; }
    </style>
      <main>
    <h1>${title}</h1>
    ${content}
      </main>
    </html>
  `

const listPage = (mails: Mail[]): Html =>
  page(
    'Mails',
    mails.length === 0
      ? html`<p>No mail has been sent since this start.</p>`
      : html`<ul>${
        mails.map(({ id, receivedAt, to, subject }) =>
          html`<li><a href="/mail/${id}">${subject}</a> to ${to}, ${moment.format(receivedAt)}</li>`
        )
      }</ul>`,
  )

// A mail is made by code of ours from what users wrote. The frame's sandbox runs no script and submits no form, and it
// inherits the policy of the page, which loads nothing. A link opens in a tab of its own.
const mailPage = (mail: Mail): Html =>
  page(
    mail.subject,
    html`<p><a href="/mail">All mails</a></p>
<p>To ${mail.to}</p>
${
      mail.html && html`<iframe sandbox="allow-popups allow-popups-to-escape-sandbox" title="HTML"
  srcdoc="${`<base target="_blank">${mail.html}`}"></iframe>`
    }
<pre>${mail.text}</pre>
${mail.headers && html`<pre>${mail.headers.map(({ key, value }) => `${key}: ${value}`).join('\n')}</pre>`}`,
  )

/**
 * The mails that would have been sent, as the Supabase CLI's inbox shows them: a mail server that delivers to pages
 * instead of to anybody. It keeps the latest mails, in memory.
 */
export const openInbox = async () => {
  const mails: Mail[] = []
  let count = 0
  const add = (mail: Omit<Mail, 'id' | 'receivedAt'>) => {
    mails.unshift({ ...mail, id: ++count, receivedAt: new Date() })
    mails.length = Math.min(mails.length, kept)
  }
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    size: megabyte,
    onData: async (stream, { envelope }, done) => {
      try {
        const { subject = '', text = '', html, headers } = await PostalMime.parse(
          Readable.toWeb(stream) as never,
        )
        add({ to: envelope.rcptTo.map(({ address }) => address).join(', '), subject, text, html, headers })
        done()
      } catch (error) {
        done(error as Error)
      }
    },
  })
  // Whoever hangs up in the middle of a mail has sent none.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as { port: number }
  const routes = new Hono()
  routes.use(pageHeaders({ styleSrc: ["'unsafe-inline'"] }))
  routes.use(async (c, next) => {
    c.header('Cache-Control', 'no-store')
    await next()
  })
  routes.get('/', (c) => c.html(listPage(mails)))
  routes.get('/:id{[0-9]+}', (c) => {
    const mail = mails.find(({ id }) => id === Number(c.req.param('id')))
    return mail ? c.html(mailPage(mail)) : c.html(page('There is no such mail', html``), 404)
  })
  return {
    /** Where the function notify sends its mails. */
    smtpUrl: `smtp://127.0.0.1:${port}`,
    add,
    routes,
  }
}
export type Inbox = Awaited<ReturnType<typeof openInbox>>
