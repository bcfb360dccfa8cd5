import type { Conversation, Message } from '../clients/inbox.ts'
import { field, openDialog } from './dialog.ts'
import { el } from './dom.ts'
import { menuItem, openMenu } from './menu.ts'

// UNSEND_HOURS and EDIT_MINUTES, if the operator has left them. The service decides, and says so.
const [unsendWithin, editWithin] = [24 * 3_600_000, 15 * 60_000]

/** What one can still do with a message that one has sent; null once that is nothing. */
export const openOwnMenu = (conversation: Conversation, message: Message, signal: AbortSignal): HTMLElement | null => {
  const { id, content, attachment, createdAt, deletedAt } = message
  const isWithin = (time: number) => Date.now() - Date.parse(createdAt) < time
  if (deletedAt || !isWithin(unsendWithin)) return null
  const correct = () => {
    const input = el('textarea', { rows: '4', maxlength: '5000' })
    input.value = content
    const save = () => conversation.edit(id, input.value)
    openDialog('Correct the message', [field('Message', input)], 'Correct', save, signal)
  }
  const takeBack = () => {
    const text = el('p', 'Its words disappear for both of you. What was read cannot be unread.')
    openDialog('Take the message back?', [text], 'Take back', () => conversation.unsend(id), signal, 'Keep it')
  }
  const named = content.length > 40 ? `${content.slice(0, 40)}…` : content || attachment?.name
  return openMenu(`Change “${named}”`, () => [
    isWithin(editWithin) && menuItem('Correct…', correct),
    menuItem('Take back…', takeBack),
  ])
}
