import type { Conversation, Message, Outgoing } from '../clients/inbox.ts'
import { isPhoto, showAttachment } from './attachment_view.ts'
import { button, el, icon, visuallyHidden } from './dom.ts'
import { formatTime, formatWhole } from './format.ts'
import { refusalOf } from './errors.ts'
import { linked } from './links.ts'
import { openOwnMenu } from './own_message.ts'
import type { Files } from './storage.ts'

/** Browsers have a clipboard on https and on this machine alone. */
const canCopy = 'clipboard' in navigator

const mark = (name: 'sent' | 'read' | 'clock' | 'refused', label: string): HTMLElement =>
  el('span', { class: `mark ${name}`, title: label }, icon(name), visuallyHidden(label))

/** Of a long message, about this many characters and lines are shown at first. */
const [shownLetters, shownLines] = [600, 12]
const unfolded = new Set<number>()

const showContent = (id: number, content: string): (Node | string | null)[] => {
  const lines = content.split('\n', shownLines).join('\n')
  const start = lines.length <= shownLetters * 1.2 ? lines : lines.slice(0, shownLetters).replace(/\s\S*$/, '')
  const text = el('span.content', ...linked(content))
  if (start.length === content.length) return [text]
  const draw = () => {
    const isOpen = unfolded.has(id)
    text.replaceChildren(...linked(isOpen ? content : `${start.trimEnd()} …`))
    fold.textContent = isOpen ? 'Show less' : 'Show more'
    fold.ariaExpanded = `${isOpen}`
  }
  const fold = button('', () => {
    if (!unfolded.delete(id)) unfolded.add(id)
    draw()
  }, 'link')
  draw()
  return [text, fold]
}

/** What is left of a message that its sender has taken back. */
const takenBack = 'Message taken back'

/** A message in a line. The list of a service of 1.1 does not say what is attached. */
export const summaryOf = (
  { content, attachment, deletedAt }: Pick<Message, 'content' | 'deletedAt'> & Partial<Pick<Message, 'attachment'>>,
): string => deletedAt ? takenBack : content || (isPhoto(attachment) ? 'Photo' : attachment?.name ?? 'Photo or file')

/** A message that the service has. */
export const renderMessage = (
  { message, own, follows }: { message: Message; own: boolean; follows: boolean },
  conversation: Conversation,
  files: Files,
  signal: AbortSignal,
): HTMLElement => {
  const { id, content, attachment, createdAt, read, Sender, editedAt, deletedAt } = message
  return el(
    'li',
    { class: `message ${own ? 'own' : 'others'}${follows ? ' follows' : ''}`, 'data-message': `${id}` },
    visuallyHidden(own ? 'You: ' : `${Sender.name}: `),
    deletedAt ? el('em', takenBack) : null,
    ...(content === '' ? [] : showContent(id, content)),
    attachment && showAttachment(attachment, files, signal),
    el(
      'span.foot',
      editedAt && !deletedAt && el('span', { title: formatWhole(editedAt) }, 'edited'),
      el('time', { datetime: createdAt, title: formatWhole(createdAt) }, formatTime(createdAt)),
      own && !deletedAt && mark(read ? 'read' : 'sent', read ? 'Read' : 'Sent'),
      own && openOwnMenu(conversation, message, signal),
    ),
  )
}

/** A message of the user's that the service does not have yet, or has refused; then with what can be done about it. */
export const renderOutgoing = (outgoing: Outgoing, error: string, conversation: Conversation): HTMLElement => {
  const { client_id, content, attachment, state, progress } = outgoing
  const copy = button('Copy the text', async () => {
    const isCopied = await navigator.clipboard.writeText(content).then(() => true, () => false)
    copy.textContent = isCopied ? 'Copied' : 'Could not copy'
  })
  const discard = button('Discard', () => conversation.discard(client_id))
  const foot = state === 'refused'
    ? [
      mark('refused', 'Not sent'),
      el('span', { role: 'alert' }, `Not sent. ${refusalOf(new Error(error)).text}`),
      button('Try again', () => conversation.retry(client_id)),
      content !== '' && canCopy && copy,
      discard,
    ]
    : state === 'waiting'
    ? [
      mark('clock', 'Waiting'),
      // Without an answer of the service the error is the browser's, in its own words.
      el('span', outgoing.error?.status ? `Not sent yet, retrying: ${error}` : 'Not sent yet, no connection'),
      discard,
    ]
    : state === 'sending'
    ? [
      mark('clock', 'Sending'),
      progress !== null && el('progress', { max: '1', value: `${progress}`, 'aria-label': 'Upload' }),
      progress !== null && discard,
    ]
    : [mark('sent', 'Sent')]
  const text = content !== '' && el('span.content', content)
  const file = attachment && el('span.file', icon('file'), el('span.file-name', attachment.name))
  const kind = { class: `message own outgoing ${state}` }
  return el('li', kind, visuallyHidden('You: '), text, file, el('span.foot', ...foot))
}
