import type { Conversation } from '../clients/inbox.ts'
import { openPicker } from './attachment_picker.ts'
import { el, icon, isComposing, isTouch, visuallyHidden } from './dom.ts'
import { language } from './format.ts'

/** In characters, as Postgres counts them. */
const longest = 5000

/** The message input: Enter sends, Shift+Enter or a touch screen's Enter adds a line. Files can be attached. */
export const openComposer = (conversation: Conversation, onSent: () => void) => {
  let isTouched = false
  const fitHeight = () => {
    input.style.height = 'auto'
    input.style.height = `${input.scrollHeight + 2}px`
  }
  const send = (event?: Event) => {
    event?.preventDefault()
    input.focus()
    const { file } = picker
    const content = input.value
    if (!content.trim() && !file) return
    const { length } = [...content]
    const [limit, actual] = [longest, length].map((count) => count.toLocaleString(language))
    const excess = `A message has at most ${limit} characters; this one has ${actual}.`
    input.setCustomValidity(length > longest ? excess : '')
    if (!input.reportValidity()) return
    isTouched = true
    input.value = ''
    fitHeight()
    picker.clear()
    // The error is shown beside the message.
    conversation.send({ content, file }).catch(() => {})
    onSent()
  }

  const picker = openPicker(() => input.focus())
  const onInput = () => {
    isTouched = true
    input.setCustomValidity('')
    conversation.setDraft(input.value)
    fitHeight()
    if (input.value) conversation.typing()
  }
  const onKey = (event: KeyboardEvent) => {
    // During IME composition, Enter confirms a word.
    if (event.key === 'Enter' && !event.shiftKey && !isTouch() && !isComposing(event)) send(event)
  }
  const keyboard = { rows: '1', enterkeyhint: isTouch() ? 'enter' : 'send' }
  const names = { 'aria-label': 'Message', placeholder: 'Message' }
  const input = el('textarea', { ...keyboard, ...names, input: onInput, keydown: onKey })
  const button = el('button.strong.round', { title: 'Send' }, icon('send'), visuallyHidden('Send'))
  const form = el('form.composer', { submit: send }, picker.button, input, button)
  const closed = el('div.hint.closed', { role: 'status', hidden: true })

  return {
    node: el('div.writing', picker.node, form, closed),
    /** Shows what was left unsent, which is read after the page has opened. */
    showDraft: () => {
      if (isTouched || input.value === conversation.view.draft) return
      input.value = conversation.view.draft
      fitHeight()
    },
    setRecipient: (name: string) => input.ariaLabel = input.placeholder = `Message to ${name}`,
    /** Shows why nobody can write, in place of the input; without a reason the input. */
    close(...reason: (string | Node)[]) {
      const hadFocus = closed.contains(document.activeElement)
      picker.node.hidden = form.hidden = reason.length > 0
      closed.hidden = reason.length === 0
      closed.replaceChildren(...reason)
      if (hadFocus) input.focus()
    },
    focus: () => input.focus(),
  }
}
