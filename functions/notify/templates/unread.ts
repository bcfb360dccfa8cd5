import { html } from 'hono/html'
import { outcomes } from './outcomes.ts'

/** A conversation with something unseen. */
export interface Unseen {
  conversation_id: number
  name: string
  unread: number
  /** The new status of a reservation; null if none has changed. */
  status: Status | null
  /** What it is about, and when it begins. */
  title: string | null
  date: string | null
  /** The beginning of the latest message, for people who have chosen previews. */
  text: string | null
}

export type Mail = Record<'subject' | 'text' | 'html', string>

type Status = keyof typeof outcomes

/** `app` is where the messages can be read, with {conversation} in it those of one; null if nobody has said. */
type Links = { app: string | null; unsubscribe: string }

const count = (number: number): string => number === 1 ? '1 unread message' : `${number} unread messages`

/** What has become of a reservation: “Jazz evening”, Thu, 3 Dec 2026, 20:30 UTC, is agreed. */
const describeStep = ({ status, title, date }: Unseen, time_zone: string): string[] => {
  if (!status) return []
  const moment = new Intl.DateTimeFormat('en-GB', {
    ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
    ...{ hour: '2-digit', minute: '2-digit', timeZone: time_zone, timeZoneName: 'short' },
  }).format(new Date(date!))
  return [`“${title}”, ${moment}, ${outcomes[status]}`]
}

const describe = (one: Unseen, time_zone: string): string =>
  [...one.unread > 0 ? [count(one.unread)] : [], ...describeStep(one, time_zone)].join(', and ')

const linkTo = (app: string, { conversation_id }: Unseen): string =>
  app.replaceAll('{conversation}', `${conversation_id}`)

const subjectOf = (conversations: Unseen[]): string => {
  const total = conversations.reduce((sum, { unread }) => sum + unread, 0)
  const [first] = conversations
  const from = conversations.length === 1 ? first!.name : `${first!.name} and others`
  if (total > 0) return `${count(total)} from ${from}`
  const { status, title } = first!
  return conversations.length === 1
    ? `“${title}” with ${from} ${outcomes[status!]}`
    : `Reservations with ${from} have changed`
}

/** The mail of a silence: what waits in each conversation, its times in this zone. */
export const unreadMail = (name: string, conversations: Unseen[], links: Links, time_zone: string): Mail => ({
  subject: subjectOf(conversations),
  text: [
    `Hello ${name},`,
    '',
    ...conversations.map((one) => `* ${one.name}: ${describe(one, time_zone)}${one.text ? `\n  “${one.text}”` : ''}`),
    ...(links.app ? ['', `Read and answer: ${linkTo(links.app, conversations[0]!)}`] : []),
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
        <li><strong>${links.app
          ? html`<a href="${linkTo(links.app, one)}">${one.name}</a>`
          : one.name}</strong>: ${describe(one, time_zone)}${one.text && html`<br><q>${one.text}</q>`}</li>
      `
    )}</ul>
    ${links.app && html`<p><a href="${linkTo(links.app, conversations[0]!)}">Read and answer</a></p>`}
    <p style="color: #666; font-size: smaller">You get this mail because you have not been here since.
    <a href="${links.unsubscribe}">No more of these mails</a></p>
      </body>
    </html>
  `),
})
