import type { Conversation } from '../clients/inbox.ts'
import { el, icon, unseen } from './dom.ts'

/** Where messages are written: Enter sends, Shift and Enter begin a new line. */
export const openComposer = (conversation: Conversation, drafts: Map<number, string>, sent: () => void) => {
  const { id } = conversation

  const written = () => {
    drafts.set(id, words.value)
    words.style.height = 'auto'
    words.style.height = `${words.scrollHeight + 2}px`
  }
  const send = (event?: Event) => {
    event?.preventDefault()
    const content = words.value
    words.focus()
    if (!content.trim()) return
    words.value = ''
    written()
    // What became of it is said beside the message.
    conversation.send(content).catch(() => {})
    sent()
  }

  const words = el('textarea', {
    rows: '1',
    'aria-label': 'Message',
    placeholder: 'Message',
    input: () => {
      written()
      if (words.value) conversation.typing()
    },
    keydown: (event: KeyboardEvent) => {
      // Enter that ends the choice of a Japanese word, say, is part of writing.
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event)
    },
  })
  words.value = drafts.get(id) ?? ''

  return {
    node: el(
      'form',
      { class: 'composer', submit: send },
      words,
      el('button', { class: 'strong' }, icon('send'), unseen('Send')),
    ),
    named: (other: string) => words.ariaLabel = words.placeholder = `Message to ${other}`,
    focus: () => words.focus(),
  }
}
