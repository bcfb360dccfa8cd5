import type { Conversation } from '../clients/inbox.ts'
import { el, icon, visuallyHidden } from './dom.ts'

/** The message input: Enter sends, Shift+Enter adds a line. */
export const openComposer = (conversation: Conversation, onSent: () => void) => {
  let isTouched = false
  const fitHeight = () => {
    input.style.height = 'auto'
    input.style.height = `${input.scrollHeight + 2}px`
  }
  const send = (event?: Event) => {
    event?.preventDefault()
    const content = input.value
    input.focus()
    if (!content.trim()) return
    isTouched = true
    input.value = ''
    fitHeight()
    // The error is shown beside the message.
    conversation.send(content).catch(() => {})
    onSent()
  }

  const input = el('textarea', {
    rows: '1',
    'aria-label': 'Message',
    placeholder: 'Message',
    input: () => {
      isTouched = true
      conversation.setDraft(input.value)
      fitHeight()
      if (input.value) conversation.typing()
    },
    keydown: (event: KeyboardEvent) => {
      // During IME composition, Enter confirms a word.
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event)
    },
  })
  const button = el('button', { class: 'strong' }, icon('send'), visuallyHidden('Send'))

  return {
    node: el('form', { class: 'composer', submit: send }, input, button),
    /** Shows what was left unsent, which is read after the page has opened. */
    showDraft: () => {
      if (isTouched || input.value === conversation.view.draft) return
      input.value = conversation.view.draft
      fitHeight()
    },
    setRecipient: (name: string) => input.ariaLabel = input.placeholder = `Message to ${name}`,
    focus: () => input.focus(),
  }
}
