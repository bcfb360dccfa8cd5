import { html } from 'hono/html'

/** A conversation with something unseen. */
export interface Unseen {
  name: string
  unread: number
  /** The new status of a reservation; null if none has changed. */
  status: string | null
  /** The beginning of the latest message, for people who have chosen previews. */
  text: string | null
}

export interface Mail {
  subject: string
  text: string
  html: string
}

interface Links {
  /** Where the messages can be read; null if the operator has not said. */
  app: string | null
  unsubscribe: string
}

const count = (number: number): string => number === 1 ? '1 unread message' : `${number} unread messages`

const describe = ({ unread, status }: Unseen): string =>
  [
    ...(unread > 0 ? [count(unread)] : []),
    ...(status ? [`a reservation is ${status} now`] : []),
  ].join(', and ')

const subjectOf = (conversations: Unseen[]): string => {
  const total = conversations.reduce((sum, { unread }) => sum + unread, 0)
  const [first] = conversations
  const from = conversations.length === 1 ? first!.name : `${first!.name} and others`
  return total > 0 ? `${count(total)} from ${from}` : `A reservation with ${from} has changed`
}

/** The mail of a silence: what waits in each conversation. */
export const unreadMail = (name: string, conversations: Unseen[], links: Links): Mail => ({
  subject: subjectOf(conversations),
  text: [
    `Hello ${name},`,
    '',
    ...conversations.map((one) => `* ${one.name}: ${describe(one)}${one.text ? `\n  “${one.text}”` : ''}`),
    ...(links.app ? ['', `Read and answer: ${links.app}`] : []),
    '',
    'You get this mail because you have not been here since.',
    `No more of these mails: ${links.unsubscribe}`,
    '',
  ].join('\n'),
  html: String(html`
    <!doctype html>
    <html lang="en">
      <body style="font-family: sans-serif; max-width: 36em">
    <p>Hello ${name},</p>
    <ul>
    ${conversations.map((one) =>
      html`
        <li><strong>${one.name}</strong>: ${describe(one)}${one.text && html`<br><q>${one.text}</q>`}</li>
      `
    )}</ul>
    ${links.app && html`<p><a href="${links.app}">Read and answer</a></p>`}
    <p style="color: #666; font-size: smaller">You get this mail because you have not been here since.
    <a href="${links.unsubscribe}">No more of these mails</a></p>
      </body>
    </html>
  `),
})
