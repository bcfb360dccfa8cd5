import type { Conversation } from '../clients/inbox.ts'
import { el, icon, visuallyHidden } from './dom.ts'

/** The message input: Enter sends, Shift+Enter adds a line. */
export const openComposer = (conversation: Conversation, drafts: Map<number, string>, onSent: () => void) => {
  const saveDraft = () => {
    drafts.set(conversation.id, input.value)
    input.style.height = 'auto'
    input.style.height = `${input.scrollHeight + 2}px`
  }
  const send = (event?: Event) => {
    event?.preventDefault()
    const content = input.value
    input.focus()
    if (!content.trim()) return
    input.value = ''
    saveDraft()
    // The error is shown beside the message.
    conversation.send(content).catch(() => {})
    onSent()
  }

  const input = el('textarea', {
    rows: '1',
    'aria-label': 'Message',
    placeholder: 'Message',
    input: () => {
      saveDraft()
      if (input.value) conversation.typing()
    },
    keydown: (event: KeyboardEvent) => {
      // During IME composition, Enter confirms a word.
      if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) send(event)
    },
  })
  input.value = drafts.get(conversation.id) ?? ''
  const button = el('button', { class: 'strong' }, icon('send'), visuallyHidden('Send'))

  return {
    node: el('form', { class: 'composer', submit: send }, input, button),
    setRecipient: (name: string) => input.ariaLabel = input.placeholder = `Message to ${name}`,
    focus: () => input.focus(),
  }
}
